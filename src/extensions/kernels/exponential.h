/// The exponential function, in a form that compilers turn into vector instructions.
///
///     e^x = 2^n * e^r,   where n = round(x / ln 2) and |r| <= ln(2) / 2
///
/// e^r comes from a polynomial of degree 6 (coefficients of Cephes, Moshier 1989), and
/// the result differs from e^x by 2 units in the last place at most. From 88.73 on the
/// result is infinite. Below -87 it is 0: no subnormal number comes out. NaN stays NaN.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

namespace tiny_llm {

/// Raise e to the power of `x`. It has no branch, so a loop over it is vectorised.
[[gnu::always_inline]] inline float exponential(float x) {
  // Adding 1.5 * 2^23 rounds to a whole number, which then stands in the lowest bits.
  constexpr float kRounder = 0x1.8p23f;
  const float rounded = x * 1.44269504088896341f + kRounder;
  const float n = rounded - kRounder;
  // ln 2 in two parts: the product of n and the first one is exact.
  const float r = (x - n * 0.693359375f) - n * -2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.0f;
  // Adding n to the exponent multiplies by 2^n.
  const std::uint32_t exponent = std::bit_cast<std::uint32_t>(rounded) << 23;
  float power = std::bit_cast<float>(std::bit_cast<std::uint32_t>(p) + exponent);
  power = x < -87.0f ? 0.0f : power;
  power = x > 88.7228f ? std::numeric_limits<float>::infinity() : power;
  return x != x ? x : power;
}

}  // namespace tiny_llm
