/// The number formats that scales and biases may be stored in.
#pragma once

#include <bit>
#include <cstdint>

namespace tiny_llm {

/// A number of IEEE 754 binary16: 1 bit of sign, 5 of exponent, 10 of fraction.
struct Float16 {
  std::uint16_t bits;
};

/// The upper half of a float: 1 bit of sign, 8 of exponent, 7 of fraction.
struct BFloat16 {
  std::uint16_t bits;
};

inline float to_float(float number) { return number; }

inline float to_float(BFloat16 number) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(number.bits) << 16);
}

/// Move the exponent by multiplying, which is right for subnormal numbers, too.
inline float to_float(Float16 number) {
  const std::uint32_t sign = static_cast<std::uint32_t>(number.bits & 0x8000u) << 16;
  const std::uint32_t rest = static_cast<std::uint32_t>(number.bits & 0x7fffu) << 13;
  const bool is_finite = (number.bits & 0x7c00u) != 0x7c00u;
  const float magnitude =
      is_finite ? std::bit_cast<float>(rest) * 0x1p112f
                : std::bit_cast<float>(rest | 0x7f800000u);
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | sign);
}

}  // namespace tiny_llm
