/// The exponential function, in a form that compilers turn into vector instructions.
///
///     e^x = 2^n * e^r,   where n = round(x / ln 2) and |r| <= ln(2) / 2
///
/// e^r comes from a polynomial of degree 7 (coefficients of Cephes, Moshier 1989), and
/// the result differs from e^x by 2 units in the last place at most. From 88.73 on the
/// result is infinite. Below -87 it is 0: no subnormal number comes out. NaN stays NaN.
#pragma once

#include <cstdint>
#include <cstring>
#include <limits>

namespace tiny_llm {

/// Replace x by e^x, where x is a float, or a vector of floats of the compiler.
///
/// `Words` is what has as many integers of 32 bits. There is no branch.
template <class Floats, class Words>
[[gnu::always_inline]] inline void exponentiate(Floats& x) {
  const Floats zero{};
  // Adding 1.5 * 2^23 rounds to a whole number, which then stands in the lowest bits.
  constexpr float rounder = 0x1.8p23f;
  const Floats rounded = x * 1.44269504088896341f + rounder;
  const Floats n = rounded - rounder;
  // ln 2 in two parts: the product of n and the first one is exact.
  const Floats r = (x - n * 0.693359375f) - n * -2.12194440e-4f;
  Floats power = r * 1.9875691500e-4f + 1.3981999507e-3f;
  power = power * r + 8.3334519073e-3f;
  power = power * r + 4.1665795894e-2f;
  power = power * r + 1.6666665459e-1f;
  power = power * r + 5.0000001201e-1f;
  power = power * (r * r) + r + 1.0f;
  // Adding n to the exponent multiplies by 2^n.
  Words bits, exponent;
  std::memcpy(&bits, &power, sizeof(bits));
  std::memcpy(&exponent, &rounded, sizeof(exponent));
  bits += exponent << 23;
  std::memcpy(&power, &bits, sizeof(power));
  power = x < -87.0f ? zero : power;
  power = x > 88.7228f ? zero + std::numeric_limits<float>::infinity() : power;
  x = x == x ? power : x;
}

/// Return e^x. A loop over it can be vectorised.
[[gnu::always_inline]] inline float exponential(float x) {
  exponentiate<float, std::uint32_t>(x);
  return x;
}

}  // namespace tiny_llm
