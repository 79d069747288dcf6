#pragma once
// What MLX puts before each custom kernel and a kernel may use: its names of types, the
// limits, and where an element of an array lies whose rows are not side by side.
#include "common.h"

using namespace metal;

#define MLX_MTL_PRAGMA_UNROLL

using float16_t = half;
using bfloat16_t = bfloat;

inline uint16_t bfloat16_to_uint16(const bfloat16_t x) { return as_type<uint16_t>(x); }
inline bfloat16_t uint16_to_bfloat16(const uint16_t x) { return as_type<bfloat16_t>(x); }

// The ends of a type's range, and the last finite numbers before them.
template <class T> struct Limits {
  static constexpr bool infinite = floating<T>;
  static constexpr T finite_max = numeric_limits<T>::max();
  static constexpr T finite_min = numeric_limits<T>::lowest();
  static constexpr T max = [] {
    if constexpr (floating<T>) return numeric_limits<T>::infinity();
    else return numeric_limits<T>::max();
  }();
  static constexpr T min = [] {
    if constexpr (floating<T>) return static_cast<T>(-numeric_limits<T>::infinity());
    else return numeric_limits<T>::min();
  }();
};

// log(1 + x), without the error of 1 + x.
namespace metal {
template <class A> METAL_INLINE auto log1p(A x) {
  using R = std::conditional_t<is_bfloat<A>, bfloat, float>;
  return static_cast<R>(std::log1p(static_cast<float>(x)));
}
}  // namespace metal

// N / M, rounded up.
template <class T, class U> inline T ceildiv(T n, U m) {
  return static_cast<T>((n + m - 1) / m);
}

// Where element number `elem`, counted row by row, lies in an array of these strides.
template <class Index = int64_t>
METAL_FUNC Index elem_to_loc(Index elem, constant const int* shape,
                             constant const int64_t* strides, int ndim) {
  Index place = 0;
  for (int i = ndim - 1; i >= 0 && elem > 0; --i) {
    place += (elem % static_cast<Index>(shape[i])) * static_cast<Index>(strides[i]);
    elem /= static_cast<Index>(shape[i]);
  }
  return place;
}
