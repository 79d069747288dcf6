#pragma once
// Metal's functions of all numbers: the common ones (MSL 6.2), those of whole numbers
// that floats have as well (MSL 6.3), and the questions (MSL 6.4).
#include "maths.h"

namespace metal {

template <class A> METAL_INLINE A abs(A value) {
  return each<void>(
      [](auto x) {
        using T = decltype(x);
        if constexpr (std::is_unsigned_v<T>) {
          return x;
        } else if constexpr (std::is_integral_v<T>) {
          return static_cast<T>(x < 0 ? -x : x);
        } else {
          return std::fabs(x);
        }
      },
      value);
}

// A number that is not one loses against any other (MSL 6.5, `fmax`).
template <class T> METAL_INLINE T larger(T x, T y) {
  if constexpr (std::is_integral_v<T>) return x < y ? y : x;
  else return std::fmax(x, y);
}
template <class T> METAL_INLINE T smaller(T x, T y) {
  if constexpr (std::is_integral_v<T>) return y < x ? y : x;
  else return std::fmin(x, y);
}
METAL_FUNCTION_2(max, x, y, larger(x, y))
METAL_FUNCTION_2(min, x, y, smaller(x, y))
METAL_FUNCTION_3(max3, x, y, z, larger(x, larger(y, z)))
METAL_FUNCTION_3(min3, x, y, z, smaller(x, smaller(y, z)))
METAL_FUNCTION_3(median3, x, y, z, larger(smaller(x, y), smaller(larger(x, y), z)))
METAL_FUNCTION_3(clamp, x, low, high, smaller(larger(x, low), high))

METAL_FUNCTION_1(saturate, x, std::fmin(std::fmax(x, decltype(x)(0)), decltype(x)(1)))
METAL_FUNCTION_1(sign, x, x > 0 ? decltype(x)(1) : x < 0 ? decltype(x)(-1)
                          : x == 0 ? x : decltype(x)(0))
METAL_FUNCTION_2(step, edge, x, x < edge ? decltype(x)(0) : decltype(x)(1))
METAL_FUNCTION_3(mix, x, y, a, x + (y - x) * a)

// From 0 to 1 between two edges, level at both.
METAL_INLINE float smooth(float low, float high, float x) {
  const float t = std::fmin(std::fmax((x - low) / (high - low), 0.0F), 1.0F);
  return t * t * (3.0F - 2.0F * t);
}
METAL_FUNCTION_3(smoothstep, low, high, x, smooth(low, high, x))

METAL_QUESTION(isfinite, x, std::isfinite(x))
METAL_QUESTION(isinf, x, std::isinf(x))
METAL_QUESTION(isnan, x, std::isnan(x))
METAL_QUESTION(isnormal, x, std::isnormal(x))
METAL_QUESTION(signbit, x, std::signbit(x))

METAL_INLINE bool all(bool x) { return x; }
METAL_INLINE bool any(bool x) { return x; }
template <int N> METAL_INLINE bool all(vec<bool, N> x) {
  bool result = true;
  for (int i = 0; i < N; ++i) result = result && x.data[i];
  return result;
}
template <int N> METAL_INLINE bool any(vec<bool, N> x) {
  bool result = false;
  for (int i = 0; i < N; ++i) result = result || x.data[i];
  return result;
}

// The second where the third is true, else the first: unlike `?:`, which asks first.
template <class T>
  requires scalar<T>
METAL_INLINE T select(T otherwise, T value, bool chosen) {
  return chosen ? value : otherwise;
}
template <class T, int N>
METAL_INLINE vec<T, N> select(vec<T, N> otherwise, vec<T, N> value, vec<bool, N> chosen) {
  for (int i = 0; i < N; ++i)
    if (chosen.data[i]) otherwise.data[i] = value.data[i];
  return otherwise;
}

}  // namespace metal
