#pragma once
// Metal's functions of vectors as such: products, lengths, directions (MSL 6.8).
#include "common.h"

namespace metal {

template <class T, int N> METAL_INLINE T dot(vec<T, N> a, vec<T, N> b) {
  T sum = static_cast<T>(a.data[0] * b.data[0]);
  for (int i = 1; i < N; ++i) sum = static_cast<T>(sum + static_cast<T>(a.data[i] * b.data[i]));
  return sum;
}
template <class T, int N> METAL_INLINE T length_squared(vec<T, N> a) { return dot(a, a); }
template <class T, int N> METAL_INLINE T length(vec<T, N> a) { return sqrt(dot(a, a)); }
template <class T, int N> METAL_INLINE T distance(vec<T, N> a, vec<T, N> b) {
  return length(a - b);
}
template <class T, int N> METAL_INLINE vec<T, N> normalize(vec<T, N> a) {
  return a * rsqrt(dot(a, a));
}
template <class T, int N> METAL_INLINE T distance_squared(vec<T, N> a, vec<T, N> b) {
  return length_squared(a - b);
}
// `normal` or its opposite, whichever faces away from where `incident` goes.
template <class T, int N>
METAL_INLINE vec<T, N> faceforward(vec<T, N> normal, vec<T, N> incident, vec<T, N> along) {
  return dot(along, incident) < T(0) ? normal : -normal;
}
template <class T, int N>
METAL_INLINE vec<T, N> reflect(vec<T, N> incident, vec<T, N> normal) {
  return incident - T(2) * dot(normal, incident) * normal;
}
template <class T, int N>
METAL_INLINE vec<T, N> refract(vec<T, N> incident, vec<T, N> normal,
                               std::type_identity_t<T> ratio) {
  const T along = dot(normal, incident);
  const T k = static_cast<T>(T(1) - ratio * ratio * (T(1) - along * along));
  if (k < T(0)) return vec<T, N>(T(0));
  return ratio * incident - static_cast<T>(ratio * along + sqrt(k)) * normal;
}
template <class T> METAL_INLINE vec<T, 3> cross(vec<T, 3> a, vec<T, 3> b) {
  return vec<T, 3>(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}

}  // namespace metal
