#pragma once
// Questions about types, answered when the kernel is compiled: those of <type_traits>
// that Metal has under the same names.
#include <array>

#include "scalars.h"

namespace metal {

using std::bool_constant;
using std::conditional;
using std::conditional_t;
using std::enable_if;
using std::enable_if_t;
using std::false_type;
using std::integral_constant;
using std::is_same;
using std::is_same_v;
using std::true_type;

template <class T> inline constexpr bool is_integral_v = std::is_integral_v<T>;
template <class T> inline constexpr bool is_signed_v = std::is_signed_v<T> || floating<T>;
template <class T> inline constexpr bool is_unsigned_v = std::is_unsigned_v<T>;
template <class T> inline constexpr bool is_floating_point_v = floating<T>;
template <class T> struct is_integral : bool_constant<is_integral_v<T>> {};
template <class T> struct is_floating_point : bool_constant<is_floating_point_v<T>> {};


// Numbers of one type in a row, as a value (MSL 2.12.1).
template <class T, std::size_t N> using array = std::array<T, N>;

}  // namespace metal
