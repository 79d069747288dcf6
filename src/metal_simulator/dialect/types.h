#pragma once
// The types of Metal as clang knows them itself, for the check of the dialect.
//
// Nothing here is ever run. A source is only parsed with these headers, and what Metal
// does not know does not parse: pointers of different address spaces do not convert,
// since their types differ (MSL 4), and there is no function that is not declared here.
// What runs is in ../language.

#define __METAL__
#define __METAL_VERSION__ 310  // the first with bfloat, and without lambdas yet
#define device __attribute__((address_space(1)))
#define constant __attribute__((address_space(2)))
#define threadgroup __attribute__((address_space(3)))
#define thread
#define kernel
#define METAL_FUNC inline __attribute__((always_inline))

typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long uint64_t;
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
typedef unsigned long size_t;
typedef long ptrdiff_t;
typedef _Float16 half;
typedef __bf16 bfloat;

namespace metal {

template <class T, int N> using vec = T __attribute__((ext_vector_type(N)));
template <class T, int N>
using packed_vec = T __attribute__((ext_vector_type(N), aligned(sizeof(T))));

#define METAL_NAMES(T)                 \
  typedef vec<T, 2> T##2;              \
  typedef vec<T, 3> T##3;              \
  typedef vec<T, 4> T##4;              \
  typedef packed_vec<T, 2> packed_##T##2; \
  typedef packed_vec<T, 3> packed_##T##3; \
  typedef packed_vec<T, 4> packed_##T##4;
METAL_NAMES(bool)
METAL_NAMES(char)
METAL_NAMES(uchar)
METAL_NAMES(short)
METAL_NAMES(ushort)
METAL_NAMES(int)
METAL_NAMES(uint)
METAL_NAMES(long)
METAL_NAMES(ulong)
METAL_NAMES(float)
METAL_NAMES(half)
METAL_NAMES(bfloat)
#undef METAL_NAMES

template <class A, class B> struct is_same { static constexpr bool value = false; };
template <class A> struct is_same<A, A> { static constexpr bool value = true; };
template <class A, class B> constexpr bool is_same_v = is_same<A, B>::value;
template <bool B, class T = void> struct enable_if {};
template <class T> struct enable_if<true, T> { typedef T type; };
template <bool B, class T = void> using enable_if_t = typename enable_if<B, T>::type;
template <bool B, class T, class F> struct conditional { typedef F type; };
template <class T, class F> struct conditional<true, T, F> { typedef T type; };
template <bool B, class T, class F>
using conditional_t = typename conditional<B, T, F>::type;
// How many components the parts of a vector have together.
template <class... Parts> struct width { static constexpr int value = 0; };
template <class Part, class... Rest> struct width<Part, Rest...> {
  static constexpr int value = 1 + width<Rest...>::value;
};
template <class T, int N, class... Rest>
struct width<T __attribute__((ext_vector_type(N))), Rest...> {
  static constexpr int value = N + width<Rest...>::value;
};

// `float4(x, y)`: clang itself puts no vector together in this way. One number alone
// stands for all components.
template <class T, int N, class... Parts>
enable_if_t<width<Parts...>::value == N || width<Parts...>::value == 1, vec<T, N>>
make_vec(Parts...);
template <class T, int N> vec<T, N> make_vec();

template <class T> struct is_integral { static constexpr bool value = false; };
template <class T> struct is_floating_point { static constexpr bool value = false; };
#define METAL_IS(trait, T) \
  template <> struct trait<T> { static constexpr bool value = true; };
METAL_IS(is_integral, bool)
METAL_IS(is_integral, char)
METAL_IS(is_integral, signed char)
METAL_IS(is_integral, uchar)
METAL_IS(is_integral, short)
METAL_IS(is_integral, ushort)
METAL_IS(is_integral, int)
METAL_IS(is_integral, uint)
METAL_IS(is_integral, long)
METAL_IS(is_integral, ulong)
METAL_IS(is_floating_point, float)
METAL_IS(is_floating_point, half)
METAL_IS(is_floating_point, bfloat)
#undef METAL_IS
template <class T> constexpr bool is_signed_v = T(-1) < T(0);
template <class T> constexpr bool is_unsigned_v = !is_signed_v<T>;
template <class T> constexpr bool is_integral_v = is_integral<T>::value;
template <class T> constexpr bool is_floating_point_v = is_floating_point<T>::value;

template <class T, T v> struct integral_constant { static constexpr T value = v; };
template <bool B> using bool_constant = integral_constant<bool, B>;
typedef bool_constant<true> true_type;
typedef bool_constant<false> false_type;

// Numbers of one type in a row, as a value.
template <class T, size_t N> struct array {
  T elements[N];
  T& operator[](size_t);
  const T& operator[](size_t) const;
  static constexpr size_t size() { return N; }
};

template <class T> struct numeric_limits {
  static constexpr T min() { return T(1); }
  static constexpr T max() { return T(1); }
  static constexpr T lowest() { return T(1); }
  static constexpr T epsilon() { return T(1); }
  static constexpr T infinity() { return T(1); }
  static constexpr T quiet_NaN() { return T(1); }
};

}  // namespace metal

template <class To, class From>
metal::enable_if_t<sizeof(To) == sizeof(From), To> as_type(From);

#include "constants.h"
