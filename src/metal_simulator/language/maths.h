#pragma once
// Metal's functions of floating-point numbers (MSL 6.5).
//
// The specification gives the precise ones a largest error, up to 4 units in the last
// place and more for some (MSL 8). Ours are within it. `fast::` allows larger errors,
// and less care with infinities; it computes the same here, because a larger error is
// nothing that a program can rely on.
#include <cmath>

#include "elementwise.h"

namespace metal {

// x * y + z of halves in double, so that only the end is rounded: a double that is not
// exact is made odd, and an odd one never lies half-way between two halves.
METAL_INLINE double odd_fma(double x, double y, double z) {
  const double product = x * y;  // exact: at most 22 bits
  const double sum = product + z;
  const double part = sum - product;
  const double error = (product - (sum - part)) + (z - part);
  if (error == 0.0 || !std::isfinite(sum)) return sum;
  auto bits = as_type<std::uint64_t>(sum);
  if ((bits & 1) == 0) bits += (error > 0) == (sum > 0) ? 1 : std::uint64_t(-1);
  return as_type<double>(bits);
}

inline namespace precise {

METAL_FUNCTION_1(acos, x, std::acos(x))
METAL_FUNCTION_1(acosh, x, std::acosh(x))
METAL_FUNCTION_1(asin, x, std::asin(x))
METAL_FUNCTION_1(asinh, x, std::asinh(x))
METAL_FUNCTION_1(atan, x, std::atan(x))
METAL_FUNCTION_1(atanh, x, std::atanh(x))
METAL_FUNCTION_1(ceil, x, std::ceil(x))
METAL_FUNCTION_1(cos, x, std::cos(x))
METAL_FUNCTION_1(cosh, x, std::cosh(x))
METAL_FUNCTION_1(exp, x, std::exp(x))
METAL_FUNCTION_1(exp2, x, std::exp2(x))
METAL_FUNCTION_1(exp10, x, std::pow(10.0, static_cast<double>(x)))
METAL_FUNCTION_1(fabs, x, std::fabs(x))
METAL_FUNCTION_1(floor, x, std::floor(x))
METAL_FUNCTION_1(log, x, std::log(x))
METAL_FUNCTION_1(log2, x, std::log2(x))
METAL_FUNCTION_1(log10, x, std::log10(x))
METAL_FUNCTION_1(rint, x, std::nearbyint(x))
METAL_FUNCTION_1(round, x, std::round(x))
METAL_FUNCTION_1(rsqrt, x, 1.0 / std::sqrt(static_cast<double>(x)))
METAL_FUNCTION_1(sin, x, std::sin(x))
METAL_FUNCTION_1(sinh, x, std::sinh(x))
METAL_FUNCTION_1(sqrt, x, std::sqrt(x))
METAL_FUNCTION_1(tan, x, std::tan(x))
METAL_FUNCTION_1(tanh, x, std::tanh(x))
METAL_FUNCTION_1(trunc, x, std::trunc(x))

// Of multiples of pi, which the argument is reduced by without an error.
METAL_INLINE double of_pi(double x) { return 3.14159265358979323846 * std::fmod(x, 2.0); }
METAL_FUNCTION_1(cospi, x, std::cos(of_pi(x)))
METAL_FUNCTION_1(sinpi, x, std::sin(of_pi(x)))
METAL_FUNCTION_1(tanpi, x, std::tan(of_pi(x)))

// What lies between a number and the whole number below it, always under 1.
METAL_FUNCTION_1(fract, x, std::fmin(x - std::floor(x), 0x1.fffffep-1F))

METAL_FUNCTION_2(atan2, y, x, std::atan2(y, x))
METAL_FUNCTION_2(copysign, x, y, std::copysign(x, y))
METAL_FUNCTION_2(fdim, x, y, std::fdim(x, y))
METAL_FUNCTION_2(fmax, x, y, std::fmax(x, y))
METAL_FUNCTION_2(fmin, x, y, std::fmin(x, y))
METAL_FUNCTION_2(fmod, x, y, std::fmod(x, y))
METAL_FUNCTION_2(pow, x, y, std::pow(x, y))
METAL_FUNCTION_2(powr, x, y, x < 0 ? decltype(x)(NAN) : std::pow(x, y))

METAL_FUNCTION_3(fmax3, x, y, z, std::fmax(x, std::fmax(y, z)))
METAL_FUNCTION_3(fmin3, x, y, z, std::fmin(x, std::fmin(y, z)))
METAL_FUNCTION_3(fmedian3, x, y, z,
                 std::fmax(std::fmin(x, y), std::fmin(std::fmax(x, y), z)))

template <class A, class B, class C>
METAL_INLINE together_t<A, B, C> fma(A x, B y, C z) {
  using V = together_t<A, B, C>;
  return each<void>(
      [](float a, float b, float c) {
        // MLX makes that of bfloat of that of float.
        if constexpr (is_half<component_t<V>>) return odd_fma(a, b, c);
        else return std::fma(a, b, c);
      },
      static_cast<V>(x), static_cast<V>(y), static_cast<V>(z));
}

}  // namespace precise

namespace fast {
using namespace precise;
}

// The sine, and the cosine behind a pointer or reference.
template <class A> METAL_INLINE A sincos(A x, A& cosine) {
  cosine = cos(x);
  return sin(x);
}

// x = fraction * 2^exponent, the fraction from 0.5 to 1.
template <floating A> METAL_INLINE A frexp(A x, int& exponent) {
  return static_cast<A>(std::frexp(static_cast<float>(x), &exponent));
}
template <floating A> METAL_INLINE A ldexp(A x, int exponent) {
  return static_cast<A>(std::ldexp(static_cast<float>(x), exponent));
}
template <floating A> METAL_INLINE int ilogb(A x) {
  return std::ilogb(static_cast<float>(x));
}
// The part behind the point; the whole part goes behind the reference.
template <class A> METAL_INLINE A modf(A x, A& whole) {
  whole = trunc(x);
  return each<void>([](auto f, auto w) { return std::isinf(f) ? decltype(f)(0) : f - w; }, x, whole);
}
template <class A, class B> METAL_INLINE float nextafter(A x, B y) {
  return std::nextafter(static_cast<float>(x), static_cast<float>(y));
}

}  // namespace metal
