#pragma once
// What `+`, `<` and their like do with vectors: each component on its own (MSL 3.1).
//
// Both sides have the same type, or one is a scalar: that becomes a component's type
// first, then a whole vector. A comparison gives a vector of truths. A shift counts by
// the lower bits of its right side: the whole width of a component is none.
#include "vectors.h"

namespace metal {

#define METAL_OPERATOR(op, Result, ...)                                       \
  template <class T, int N>                                                   \
  METAL_INLINE vec<Result, N> operator op(vec<T, N> a, vec<T, N> b) {         \
    vec<Result, N> result;                                                    \
    for (int i = 0; i < N; ++i)                                               \
      result.data[i] = static_cast<Result>(__VA_ARGS__);                      \
    return result;                                                            \
  }                                                                           \
  template <class T, int N, scalar S>                                         \
  METAL_INLINE vec<Result, N> operator op(vec<T, N> a, S b) {                 \
    return a op vec<T, N>(static_cast<T>(b));                                 \
  }                                                                           \
  template <class T, int N, scalar S>                                         \
  METAL_INLINE vec<Result, N> operator op(S a, vec<T, N> b) {                 \
    return vec<T, N>(static_cast<T>(a)) op b;                                 \
  }
#define METAL_ARITHMETIC(op)                                                  \
  METAL_OPERATOR(op, T, a.data[i] op b.data[i])                               \
  template <class T, int N, class R>                                          \
  METAL_INLINE vec<T, N>& operator op##=(vec<T, N>& a, R b) {                 \
    return a = a op b;                                                        \
  }
#define METAL_SHIFT(op)                                                       \
  METAL_OPERATOR(op, T, a.data[i] op(b.data[i] & T(8 * sizeof(T) - 1)))       \
  template <class T, int N, class R>                                          \
  METAL_INLINE vec<T, N>& operator op##=(vec<T, N>& a, R b) {                 \
    return a = a op b;                                                        \
  }
#define METAL_COMPARISON(op) METAL_OPERATOR(op, bool, a.data[i] op b.data[i])

METAL_ARITHMETIC(+)
METAL_ARITHMETIC(-)
METAL_ARITHMETIC(*)
METAL_ARITHMETIC(/)
METAL_ARITHMETIC(%)
METAL_ARITHMETIC(&)
METAL_ARITHMETIC(|)
METAL_ARITHMETIC(^)
METAL_SHIFT(<<)
METAL_SHIFT(>>)
METAL_COMPARISON(==)
METAL_COMPARISON(!=)
METAL_COMPARISON(<)
METAL_COMPARISON(<=)
METAL_COMPARISON(>)
METAL_COMPARISON(>=)
METAL_COMPARISON(&&)
METAL_COMPARISON(||)
#undef METAL_COMPARISON
#undef METAL_SHIFT
#undef METAL_ARITHMETIC
#undef METAL_OPERATOR

#define METAL_UNARY(op, Result)                                               \
  template <class T, int N>                                                   \
  METAL_INLINE vec<Result, N> operator op(vec<T, N> a) {                      \
    vec<Result, N> result;                                                    \
    for (int i = 0; i < N; ++i)                                               \
      result.data[i] = static_cast<Result>(op a.data[i]);                     \
    return result;                                                            \
  }
METAL_UNARY(-, T)
METAL_UNARY(+, T)
METAL_UNARY(~, T)
METAL_UNARY(!, bool)
#undef METAL_UNARY

#define METAL_STEP(op, sign)                                                  \
  template <class T, int N> METAL_INLINE vec<T, N>& operator op(vec<T, N>& a) { \
    return a = a sign T(1);                                                   \
  }                                                                           \
  template <class T, int N>                                                   \
  METAL_INLINE vec<T, N> operator op(vec<T, N>& a, int) {                     \
    const vec<T, N> before = a;                                               \
    a = a sign T(1);                                                          \
    return before;                                                            \
  }
METAL_STEP(++, +)
METAL_STEP(--, -)
#undef METAL_STEP

}  // namespace metal
