#pragma once
// Metal's functions of whole numbers (MSL 6.3).
#include "common.h"

namespace metal {

template <class T> using unsigned_t = std::make_unsigned_t<T>;

// One more bit than two numbers of type T need for their sum.
template <class T> using wide_t = std::conditional_t<sizeof(T) == 8, __int128, long>;

template <class T> METAL_INLINE T into_range(wide_t<T> value) {
  const wide_t<T> low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
  return static_cast<T>(value < low ? low : value > high ? high : value);
}

METAL_FUNCTION_1(popcount, x,
                 __builtin_popcountll(static_cast<unsigned_t<decltype(x)>>(x)))
METAL_FUNCTION_1(clz, x, std::countl_zero(static_cast<unsigned_t<decltype(x)>>(x)))
METAL_FUNCTION_1(ctz, x, std::countr_zero(static_cast<unsigned_t<decltype(x)>>(x)))

template <class T> METAL_INLINE T reversed(T x) {
  unsigned_t<T> result = 0;
  auto rest = static_cast<unsigned_t<T>>(x);
  for (std::size_t i = 0; i < 8 * sizeof(T); ++i, rest = static_cast<unsigned_t<T>>(rest >> 1))
    result = static_cast<unsigned_t<T>>(result << 1 | (rest & 1));
  return static_cast<T>(result);
}
METAL_FUNCTION_1(reverse_bits, x, reversed(x))

METAL_FUNCTION_2(absdiff, x, y, x < y ? y - x : x - y)
METAL_FUNCTION_2(addsat, x, y,
                 into_range<decltype(x)>(wide_t<decltype(x)>(x) + wide_t<decltype(x)>(y)))
METAL_FUNCTION_2(subsat, x, y,
                 into_range<decltype(x)>(wide_t<decltype(x)>(x) - wide_t<decltype(x)>(y)))
METAL_FUNCTION_2(hadd, x, y, (wide_t<decltype(x)>(x) + wide_t<decltype(x)>(y)) >> 1)
METAL_FUNCTION_2(rhadd, x, y, (wide_t<decltype(x)>(x) + wide_t<decltype(x)>(y) + 1) >> 1)
METAL_FUNCTION_2(mulhi, x, y,
                 (static_cast<__int128>(x) * static_cast<__int128>(y)) >> (8 * sizeof(x)))
METAL_FUNCTION_3(madhi, x, y, z, mulhi(x, y) + z)
METAL_FUNCTION_3(madsat, x, y, z, into_range<decltype(x)>(
    wide_t<decltype(x)>(x) * wide_t<decltype(x)>(y) + wide_t<decltype(x)>(z)))
METAL_FUNCTION_2(rotate, x, bits,
                 std::rotl(static_cast<unsigned_t<decltype(x)>>(x),
                           static_cast<int>(bits & decltype(x)(8 * sizeof(x) - 1))))
METAL_FUNCTION_2(mul24, x, y, x* y)
METAL_FUNCTION_3(mad24, x, y, z, x* y + z)

// `bits` bits of x from `offset` on; a signed number keeps its sign.
template <class T>
  requires std::is_integral_v<T>
METAL_INLINE T extract_bits(T x, uint offset, uint bits) {
  if (bits == 0) return 0;
  const uint width = 8 * sizeof(T);
  const auto top = static_cast<T>(static_cast<unsigned_t<T>>(x) << (width - bits - offset));
  return static_cast<T>(top >> (width - bits));
}
// x with `bits` bits from `offset` on replaced by the lowest ones of `inserted`.
template <class T>
  requires std::is_integral_v<T>
METAL_INLINE T insert_bits(T x, T inserted, uint offset, uint bits) {
  const unsigned long ones = bits == 64 ? ~0UL : (1UL << bits) - 1;
  const unsigned long kept = static_cast<unsigned long>(x) & ~(ones << offset);
  return static_cast<T>(kept | (static_cast<unsigned long>(inserted) & ones) << offset);
}

}  // namespace metal
