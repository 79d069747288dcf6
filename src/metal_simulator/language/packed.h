#pragma once
// Vectors as they lie in memory without gaps: `packed_float3` has 12 bytes, and every
// packed vector is aligned like one component (MSL 2.2.3).
//
// It is read and written by component, and becomes an ordinary vector where one is
// wanted.
#include "operators.h"

namespace metal {

template <class T, int N> struct packed_vec;

#define METAL_PACKED(N, ...)                                                       \
  template <class T> struct packed_vec<T, N> {                                     \
    union {                                                                        \
      T data[N];                                                                   \
      struct { T __VA_ARGS__; };                                                   \
    };                                                                             \
    packed_vec() = default;                                                        \
    METAL_INLINE packed_vec(vec<T, N> value) {                                     \
      for (int i = 0; i < N; ++i) data[i] = value.data[i];                         \
    }                                                                              \
    template <class... Parts>                                                      \
      requires(sizeof...(Parts) > 1)                                               \
    METAL_INLINE packed_vec(Parts... parts) : packed_vec(vec<T, N>(parts...)) {}   \
    METAL_INLINE operator vec<T, N>() const {                                      \
      vec<T, N> value;                                                             \
      for (int i = 0; i < N; ++i) value.data[i] = data[i];                         \
      return value;                                                                \
    }                                                                              \
    template <class I> METAL_INLINE T& operator[](I i) { return data[i]; }         \
    template <class I> METAL_INLINE const T& operator[](I i) const { return data[i]; } \
    template <int... I> METAL_INLINE vec<T, sizeof...(I)> at() const {             \
      return vec<T, sizeof...(I)>(data[I]...);                                     \
    }                                                                              \
  };
METAL_PACKED(2, x, y)
METAL_PACKED(3, x, y, z)
METAL_PACKED(4, x, y, z, w)
#undef METAL_PACKED

// A packed vector calculates as the ordinary one.
template <class T, int N> METAL_INLINE vec<T, N> unpacked(packed_vec<T, N> value) {
  return value;
}
#define METAL_OPERATOR(op)                                                          \
  template <class T, int N, class B>                                                \
  METAL_INLINE auto operator op(packed_vec<T, N> a, B b) {                          \
    return unpacked(a) op b;                                                        \
  }                                                                                 \
  template <class T, int N, class A>                                                \
  METAL_INLINE auto operator op(A a, packed_vec<T, N> b) {                          \
    return a op unpacked(b);                                                        \
  }                                                                                 \
  template <class T, int N>                                                         \
  METAL_INLINE auto operator op(packed_vec<T, N> a, packed_vec<T, N> b) {           \
    return unpacked(a) op unpacked(b);                                              \
  }
METAL_OPERATOR(+)
METAL_OPERATOR(-)
METAL_OPERATOR(*)
METAL_OPERATOR(/)
#undef METAL_OPERATOR
#define METAL_ASSIGNMENT(op)                                                        \
  template <class T, int N, class B>                                                \
  METAL_INLINE packed_vec<T, N>& operator op##=(packed_vec<T, N>& a, B b) {         \
    return a = unpacked(a) op b;                                                    \
  }
METAL_ASSIGNMENT(+)
METAL_ASSIGNMENT(-)
METAL_ASSIGNMENT(*)
METAL_ASSIGNMENT(/)
#undef METAL_ASSIGNMENT

#define METAL_NAMES(T)                    \
  using packed_##T##2 = packed_vec<T, 2>; \
  using packed_##T##3 = packed_vec<T, 3>; \
  using packed_##T##4 = packed_vec<T, 4>;
METAL_NAMES(char)
METAL_NAMES(uchar)
METAL_NAMES(short)
METAL_NAMES(ushort)
METAL_NAMES(int)
METAL_NAMES(uint)
METAL_NAMES(long)
METAL_NAMES(ulong)
METAL_NAMES(float)
METAL_NAMES(half)
METAL_NAMES(bfloat)
#undef METAL_NAMES

}  // namespace metal
