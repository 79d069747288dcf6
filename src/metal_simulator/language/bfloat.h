#pragma once
// `bfloat`: the upper half of a float's 32 bits (MSL 2.1, Metal 3.1 and later).
//
// Arithmetic is done in float and rounded back after each operation, to the nearest,
// ties to even. One rounding after another does no harm here: 24 bits are more than
// 2 * 8 + 2, so the result is the correctly rounded one for + - * / and sqrt.
//
// Conversions are stricter than half's. A bfloat becomes a float by itself; no float
// and no half becomes a bfloat without being asked: `bfloat(x)`.
#include <bit>
#include <concepts>
#include <cstdint>
#include <type_traits>

class bfloat {
 public:
  bfloat() = default;

  template <std::integral I>
  constexpr bfloat(I value) : bits_(round(static_cast<float>(value))) {}

  template <class F>
    requires(std::is_same_v<F, float> || std::is_same_v<F, half>)
  constexpr explicit bfloat(F value) : bits_(round(static_cast<float>(value))) {}

  static constexpr bfloat of_bits(std::uint16_t bits) {
    bfloat result;
    result.bits_ = bits;
    return result;
  }

  // A template, so that `bfloat` becomes a float and nothing that a float becomes.
  template <std::same_as<float> F> constexpr operator F() const {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits_) << 16);
  }

  // Anything else, on demand.
  template <class T>
    requires(!std::is_same_v<T, float> &&
             (std::is_arithmetic_v<T> || std::is_same_v<T, half>))
  constexpr explicit operator T() const {
    return static_cast<T>(static_cast<float>(*this));
  }

 private:
  static constexpr std::uint16_t round(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    if (value != value) return static_cast<std::uint16_t>(bits >> 16 | 0x40);
    const std::uint32_t is_odd = bits >> 16 & 1;
    return static_cast<std::uint16_t>((bits + 0x7FFF + is_odd) >> 16);
  }

  std::uint16_t bits_;
};

// What comes out when a bfloat meets a number of another type: a float with a float, a
// bfloat with a whole number. With a half there is no answer, so it does not compile.
template <class A, class B>
concept with_bfloat = (std::is_same_v<A, bfloat> &&
                       (std::is_same_v<B, bfloat> || std::is_integral_v<B>)) ||
                      (std::is_integral_v<A> && std::is_same_v<B, bfloat>);
template <class A, class B>
concept bfloat_and_float = (std::is_same_v<A, bfloat> && std::is_same_v<B, float>) ||
                           (std::is_same_v<A, float> && std::is_same_v<B, bfloat>);

#define METAL_ARITHMETIC(op)                                                       \
  template <class A, class B>                                                      \
    requires with_bfloat<A, B>                                                     \
  [[gnu::always_inline]] constexpr bfloat operator op(A a, B b) {                  \
    return bfloat(static_cast<float>(bfloat(a)) op static_cast<float>(bfloat(b))); \
  }                                                                                \
  template <class A, class B>                                                      \
    requires bfloat_and_float<A, B>                                                \
  [[gnu::always_inline]] constexpr float operator op(A a, B b) {                   \
    return static_cast<float>(a) op static_cast<float>(b);                         \
  }                                                                                \
  template <class B>                                                               \
    requires(std::is_same_v<B, bfloat> || std::is_integral_v<B>)                   \
  [[gnu::always_inline]] constexpr bfloat& operator op##=(bfloat& a, B b) {        \
    return a = a op b;                                                             \
  }
METAL_ARITHMETIC(+)
METAL_ARITHMETIC(-)
METAL_ARITHMETIC(*)
METAL_ARITHMETIC(/)
#undef METAL_ARITHMETIC

#define METAL_COMPARISON(op)                                      \
  template <class A, class B>                                     \
    requires(with_bfloat<A, B> || bfloat_and_float<A, B>)         \
  [[gnu::always_inline]] constexpr bool operator op(A a, B b) {   \
    return static_cast<float>(a) op static_cast<float>(b);        \
  }
METAL_COMPARISON(==)
METAL_COMPARISON(!=)
METAL_COMPARISON(<)
METAL_COMPARISON(<=)
METAL_COMPARISON(>)
METAL_COMPARISON(>=)
#undef METAL_COMPARISON

[[gnu::always_inline]] constexpr bfloat operator-(bfloat a) {
  return bfloat(-static_cast<float>(a));
}
[[gnu::always_inline]] constexpr bfloat operator+(bfloat a) { return a; }
