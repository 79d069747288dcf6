#pragma once
// The scalars of Metal: which names they have and how wide they are (MSL 2.1).
//
// `half` is the compiler's own 16-bit float: it converts and promotes in C++ as in
// Metal, and both round to the nearest, ties to even, after each operation. There is no
// `double`: a literal without a suffix is a `float` (the rewriting of the source gives
// it its `f`).
//
// `long` has 64 bits in Metal. So it has on Linux and macOS, the only places where this
// is compiled.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

// What is inlined is counted to the line that calls it, and an access of memory in it
// is seen like one of the caller's own.
#define METAL_INLINE [[gnu::always_inline]] inline

#if !defined(__FLT16_MANT_DIG__)
#error "this compiler has no _Float16 in C++: g++ 12 (x86), g++ 13 (ARM) or clang 15"
#endif

using uchar = unsigned char;
using ushort = unsigned short;
using uint = unsigned int;
using ulong = unsigned long;
using half = _Float16;
static_assert(sizeof(long) == 8 && sizeof(int) == 4 && sizeof(half) == 2);

#include "bfloat.h"

namespace metal {

template <class T> inline constexpr bool is_half = std::is_same_v<T, half>;
template <class T> inline constexpr bool is_bfloat = std::is_same_v<T, bfloat>;

// True for the types that a calculation can be done in, false for vectors, pointers and
// structures.
template <class T>
concept scalar = std::is_arithmetic_v<T> || is_half<T> || is_bfloat<T>;

template <class T>
concept floating = scalar<T> && !std::is_integral_v<T>;

// The limits of a type, as in <limits> (MSL 6.1 names the header).
template <class T> struct numeric_limits : std::numeric_limits<T> {};

template <> struct numeric_limits<half> {
  static constexpr bool is_specialized = true;
  static constexpr half min() { return static_cast<half>(6.103515625e-05F); }
  static constexpr half max() { return static_cast<half>(65504.0F); }
  static constexpr half lowest() { return static_cast<half>(-65504.0F); }
  static constexpr half epsilon() { return static_cast<half>(0.0009765625F); }
  static constexpr half infinity() { return static_cast<half>(__builtin_inff()); }
  static constexpr half quiet_NaN() { return static_cast<half>(__builtin_nanf("")); }
};

template <> struct numeric_limits<bfloat> {
  static constexpr bool is_specialized = true;
  static constexpr bfloat min() { return bfloat::of_bits(0x0080); }
  static constexpr bfloat max() { return bfloat::of_bits(0x7F7F); }
  static constexpr bfloat lowest() { return bfloat::of_bits(0xFF7F); }
  static constexpr bfloat epsilon() { return bfloat::of_bits(0x3C00); }
  static constexpr bfloat infinity() { return bfloat::of_bits(0x7F80); }
  static constexpr bfloat quiet_NaN() { return bfloat::of_bits(0x7FC0); }
};

}  // namespace metal

// The same bits under another type (MSL 2.20).
template <class To, class From>
  requires(sizeof(To) == sizeof(From))
METAL_INLINE To as_type(From value) {
  To result;
  std::memcpy(static_cast<void*>(&result), &value, sizeof(To));
  return result;
}
