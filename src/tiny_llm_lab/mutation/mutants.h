/// Places of the kernels that a mutant may take: they do what the text says, unless the
/// number of a mutant is chosen.
///
///     a + b   ->   a + mutants::At{7} + b
///
/// keeps what binds to what, so nobody has to know where an operand begins or ends. At 7
/// is a - b, at 8 a, at 9 b: what other operators become stands below, one mutant each.
#pragma once

#include <type_traits>

/// Which mutant runs, from 1 on. With 0 it is none; below, each notes that it could.
extern "C" __attribute__((visibility("default"))) int tiny_llm_chosen_mutant;
extern "C" __attribute__((visibility("default"))) signed char tiny_llm_seen_mutants[];

namespace tiny_llm::mutants {

#define MUTANT_INLINE [[gnu::always_inline]] inline

MUTANT_INLINE bool is(int number) {
  if (tiny_llm_chosen_mutant < 0) [[unlikely]] tiny_llm_seen_mutants[number] = 1;
  return tiny_llm_chosen_mutant == number;
}

/// Return a number, or the next, or the one before.
template <class Number>
MUTANT_INLINE Number number(int first, Number number) {
  if (is(first)) return static_cast<Number>(number + 1);
  if (is(first + 1)) return static_cast<Number>(number - 1);
  return number;
}

/// Return what is given. GCC 12 computes what stands in brackets behind a choice for the
/// first alternative only.
template <class Chosen>
MUTANT_INLINE Chosen&& same(Chosen&& chosen) {
  return static_cast<Chosen&&>(chosen);
}

/// Stands between an operator and the same operator.
struct At {
  int number;
};

template <class A>
struct Left {
  A&& a;
  int number;
};

template <class B>
struct Right {
  B&& b;
  int number;
};

/// One mutant, where its types make a program. A template's may do so for some types.
#define MUTANT(place, ...)                                          \
  if constexpr (requires { static_cast<Result>(__VA_ARGS__); }) {   \
    if (is(number + place)) return static_cast<Result>(__VA_ARGS__); \
  }

#define MUTANT_OPERATOR(op, one, two, three) \
  template <class A> \
  MUTANT_INLINE Left<A> operator op(A&& a, At at) { \
    return {static_cast<A&&>(a), at.number}; \
  } \
  template <class A, class B> \
  MUTANT_INLINE auto operator op(Left<A> left, B&& b) { \
    auto& a = left.a; \
    const int number = left.number; \
    using Result = std::decay_t<decltype(a op b)>; \
    MUTANT(0, one) \
    MUTANT(1, two) \
    MUTANT(2, three) \
    return static_cast<Result>(a op b); \
  }

MUTANT_OPERATOR(+, a - b, a, b)
MUTANT_OPERATOR(-, a + b, a, b - a)
MUTANT_OPERATOR(*, a + b, a, b)
MUTANT_OPERATOR(/, a * b, a, b / a)
MUTANT_OPERATOR(%, a / b, a, a % (b + 1))
MUTANT_OPERATOR(&, a | b, a, b)
MUTANT_OPERATOR(|, a & b, a, b)
MUTANT_OPERATOR(<<, a >> b, a, a << (b + 1))
MUTANT_OPERATOR(>>, a << b, a, a >> (b + 1))
MUTANT_OPERATOR(<, a <= b, a + 1 < b, a > b)
MUTANT_OPERATOR(<=, a < b, a <= b + 1, a > b)
MUTANT_OPERATOR(>, a >= b, a > b + 1, a < b)
MUTANT_OPERATOR(>=, a > b, a + 1 >= b, a < b)
MUTANT_OPERATOR(==, a != b, a <= b, a >= b)
MUTANT_OPERATOR(!=, a == b, a < b, a > b)

#define MUTANT_ASSIGNMENT(op, one, two) \
  template <class B> \
  MUTANT_INLINE Right<B> operator op(At at, B&& b) { \
    return {static_cast<B&&>(b), at.number}; \
  } \
  template <class A, class B> \
  MUTANT_INLINE A& operator op(A& a, Right<B> right) { \
    auto& b = right.b; \
    if constexpr (requires { a one b; }) { \
      if (is(right.number)) return a one b; \
    } \
    if constexpr (requires { a two b; }) { \
      if (is(right.number + 1)) return a two b; \
    } \
    return a op b; \
  }

MUTANT_ASSIGNMENT(+=, -=, =)
MUTANT_ASSIGNMENT(-=, +=, =)
MUTANT_ASSIGNMENT(*=, /=, =)
MUTANT_ASSIGNMENT(/=, *=, =)
MUTANT_ASSIGNMENT(>>=, <<=, =)

}  // namespace tiny_llm::mutants
