#pragma once
// How one function of floats becomes Metal's function of all its types.
//
// Metal has `exp(float)`, `exp(half)`, `exp(float4)` ...: the same function of each
// component. Several arguments are brought to one type first, as C++ does for `+`; a
// scalar beside a vector becomes a vector. A half or bfloat is computed as a float and
// rounded once, at the end.
#include "operators.h"

namespace metal {

// The type that several arguments are brought to.
template <class... A> struct together;
template <class A> struct together<A> {
  using type = A;
};
template <class A, class B> struct together<A, B> {
  using type = decltype(A() + B());
};
template <class A>
  requires scalar<A>
struct together<A, A> {
  using type = A;
};
template <class T, int N, scalar B> struct together<vec<T, N>, B> {
  using type = vec<T, N>;
};
template <scalar A, class T, int N> struct together<A, vec<T, N>> {
  using type = vec<T, N>;
};
template <class A, class B, class C, class... Rest> struct together<A, B, C, Rest...> {
  using type = typename together<typename together<A, B>::type, C, Rest...>::type;
};
template <class... A> using together_t = typename together<A...>::type;

// The type that a component is computed in.
template <class T>
using computed_t =
    std::conditional_t<std::is_same_v<T, half> || std::is_same_v<T, bfloat>, float, T>;

// A result as a number of type R. That of a bfloat was a float first.
template <class R, class V> METAL_INLINE R rounded(V value) {
  if constexpr (is_bfloat<R>) return bfloat(static_cast<float>(value));
  else return static_cast<R>(value);
}

// Apply `f` to each component of `a`, and of what stands beside it.
template <class Result, class F, class V, class... More>
METAL_INLINE auto each(F f, V a, More... more) {
  using T = component_t<V>;
  if constexpr (is_vector<V>) {
    vec<std::conditional_t<std::is_void_v<Result>, T, Result>,
        sizeof(a.data) / sizeof(a.data[0])>
        result;
    for (int i = 0; i < static_cast<int>(sizeof(a.data) / sizeof(a.data[0])); ++i)
      result.data[i] = each<Result>(f, a.data[i], more.data[i]...);
    return result;
  } else {
    using R = std::conditional_t<std::is_void_v<Result>, T, Result>;
    return rounded<R>(f(static_cast<computed_t<T>>(a),
                        static_cast<computed_t<T>>(more)...));
  }
}

// A function whose result has the type of its arguments.
#define METAL_FUNCTION_1(name, x, ...)                                        \
  template <class A> METAL_INLINE A name(A first) {                           \
    return each<void>([](auto x) { return __VA_ARGS__; }, first);             \
  }
#define METAL_FUNCTION_2(name, x, y, ...)                                     \
  template <class A, class B>                                                 \
  METAL_INLINE together_t<A, B> name(A first, B second) {                     \
    using V = together_t<A, B>;                                               \
    return each<void>([](auto x, auto y) { return __VA_ARGS__; },             \
                      static_cast<V>(first), static_cast<V>(second));         \
  }
#define METAL_FUNCTION_3(name, x, y, z, ...)                                  \
  template <class A, class B, class C>                                        \
  METAL_INLINE together_t<A, B, C> name(A first, B second, C third) {         \
    using V = together_t<A, B, C>;                                            \
    return each<void>([](auto x, auto y, auto z) { return __VA_ARGS__; },     \
                      static_cast<V>(first), static_cast<V>(second),          \
                      static_cast<V>(third));                                 \
  }
// One whose result is a truth, or a vector of truths.
#define METAL_QUESTION(name, x, ...)                                          \
  template <class A> METAL_INLINE auto name(A first) {                        \
    return each<bool>([](auto x) -> bool { return __VA_ARGS__; }, first);     \
  }

}  // namespace metal
