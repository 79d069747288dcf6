#pragma once
// Metal's functions of numbers, declared for all their types, for the check of the
// dialect (MSL 6). What is ambiguous in Metal is ambiguous here, such as `max(x, 0)` of
// a float and an int.
#include "types.h"

namespace metal {

#define METAL_VECTORS_OF(D, name, T) D(name, T) D(name, T##2) D(name, T##3) D(name, T##4)
#define METAL_FLOATS(D, name) METAL_VECTORS_OF(D, name, float) METAL_VECTORS_OF(D, name, half)
#define METAL_INTEGERS(D, name)                                         \
  METAL_VECTORS_OF(D, name, char) METAL_VECTORS_OF(D, name, uchar)      \
  METAL_VECTORS_OF(D, name, short) METAL_VECTORS_OF(D, name, ushort)    \
  METAL_VECTORS_OF(D, name, int) METAL_VECTORS_OF(D, name, uint)        \
  METAL_VECTORS_OF(D, name, long) METAL_VECTORS_OF(D, name, ulong)

#define METAL_1(name, T) T name(T);
#define METAL_2(name, T) T name(T, T);
#define METAL_3(name, T) T name(T, T, T);

// MLX adds these of bfloat. A bfloat beside a float becomes one; nothing becomes a
// bfloat, hence the templates.
template <class B> using if_bfloat = enable_if_t<is_same_v<B, bfloat>, float>;
#define METAL_BFLOAT_1(name) bfloat name(bfloat);
#define METAL_BFLOAT_2(name)                                 \
  bfloat name(bfloat, bfloat);                               \
  template <class B> if_bfloat<B> name(B, float);            \
  template <class B> if_bfloat<B> name(float, B);
#define METAL_BFLOAT_3(name)                                 \
  bfloat name(bfloat, bfloat, bfloat);                       \
  template <class B> if_bfloat<B> name(B, float, float);     \
  template <class B> if_bfloat<B> name(float, B, float);     \
  template <class B> if_bfloat<B> name(float, float, B);     \
  template <class B> if_bfloat<B> name(B, B, float);         \
  template <class B> if_bfloat<B> name(B, float, B);         \
  template <class B> if_bfloat<B> name(float, B, B);
#define METAL_MATHS_1(name) METAL_FLOATS(METAL_1, name) METAL_BFLOAT_1(name)
#define METAL_MATHS_2(name) METAL_FLOATS(METAL_2, name) METAL_BFLOAT_2(name)
#define METAL_MATHS_3(name) METAL_FLOATS(METAL_3, name) METAL_BFLOAT_3(name)

METAL_MATHS_1(acos) METAL_MATHS_1(acosh) METAL_MATHS_1(asin) METAL_MATHS_1(asinh)
METAL_MATHS_1(atan) METAL_MATHS_1(atanh) METAL_MATHS_1(ceil) METAL_MATHS_1(cos)
METAL_MATHS_1(cosh) METAL_MATHS_1(cospi) METAL_MATHS_1(exp) METAL_MATHS_1(exp2)
METAL_MATHS_1(exp10) METAL_MATHS_1(fabs) METAL_MATHS_1(floor) METAL_MATHS_1(fract)
METAL_MATHS_1(log) METAL_MATHS_1(log2) METAL_MATHS_1(log10) METAL_MATHS_1(rint)
METAL_MATHS_1(round) METAL_MATHS_1(rsqrt) METAL_MATHS_1(sin) METAL_MATHS_1(sinh)
METAL_MATHS_1(sinpi) METAL_MATHS_1(sqrt) METAL_MATHS_1(tan) METAL_MATHS_1(tanh)
METAL_MATHS_1(tanpi) METAL_MATHS_1(trunc) METAL_MATHS_1(abs)
METAL_MATHS_2(atan2) METAL_MATHS_2(fdim) METAL_MATHS_2(fmax) METAL_MATHS_2(fmin)
METAL_MATHS_2(fmod) METAL_MATHS_2(pow) METAL_MATHS_2(powr) METAL_MATHS_2(max)
METAL_MATHS_2(min)
METAL_MATHS_3(fma) METAL_MATHS_3(fmax3) METAL_MATHS_3(fmin3) METAL_MATHS_3(fmedian3)
METAL_MATHS_3(max3) METAL_MATHS_3(min3) METAL_MATHS_3(median3)

// Of these MLX has none for bfloat: one becomes a float.
#define METAL_FLOAT_1(name) METAL_FLOATS(METAL_1, name) float name(bfloat);
#define METAL_FLOAT_2(name) METAL_FLOATS(METAL_2, name) float name(bfloat, bfloat);
#define METAL_FLOAT_3(name) METAL_FLOATS(METAL_3, name) float name(bfloat, bfloat, bfloat);
METAL_FLOAT_1(saturate) METAL_FLOAT_1(sign) METAL_FLOAT_2(copysign) METAL_FLOAT_2(step)
METAL_FLOAT_3(mix) METAL_FLOAT_3(smoothstep) METAL_FLOAT_3(clamp)
template <int N> vec<float, N> mix(vec<float, N>, vec<float, N>, float);
template <int N> vec<half, N> mix(vec<half, N>, vec<half, N>, half);
float nextafter(float, float);

#define METAL_SINCOS(name, T) T name(T, thread T&);
METAL_FLOATS(METAL_SINCOS, sincos)
METAL_FLOATS(METAL_SINCOS, modf)
float frexp(float, thread int&);
half frexp(half, thread int&);
float ldexp(float, int);
half ldexp(half, int);
int ilogb(float);
int ilogb(half);

namespace precise {
using namespace metal;
}
namespace fast {
using namespace metal;
}

METAL_INTEGERS(METAL_1, abs) METAL_INTEGERS(METAL_1, popcount) METAL_INTEGERS(METAL_1, clz)
METAL_INTEGERS(METAL_1, ctz) METAL_INTEGERS(METAL_1, reverse_bits)
METAL_INTEGERS(METAL_2, max) METAL_INTEGERS(METAL_2, min) METAL_INTEGERS(METAL_2, absdiff)
METAL_INTEGERS(METAL_2, addsat) METAL_INTEGERS(METAL_2, subsat)
METAL_INTEGERS(METAL_2, hadd) METAL_INTEGERS(METAL_2, rhadd)
METAL_INTEGERS(METAL_2, mulhi) METAL_INTEGERS(METAL_2, rotate)
METAL_INTEGERS(METAL_3, clamp) METAL_INTEGERS(METAL_3, max3) METAL_INTEGERS(METAL_3, min3)
METAL_INTEGERS(METAL_3, median3) METAL_INTEGERS(METAL_3, madhi)
METAL_INTEGERS(METAL_3, madsat)
#define METAL_24(T) T mul24(T, T); T mad24(T, T, T);
METAL_24(int) METAL_24(uint)
#define METAL_BITS(name, T) T extract_bits(T, uint, uint); T insert_bits(T, T, uint, uint);
METAL_BITS(bits, char) METAL_BITS(bits, uchar) METAL_BITS(bits, short)
METAL_BITS(bits, ushort) METAL_BITS(bits, int) METAL_BITS(bits, uint)
METAL_BITS(bits, long) METAL_BITS(bits, ulong)

#define METAL_QUESTION(name)                                          \
  bool name(float); bool name(half); bool name(bfloat);               \
  bool2 name(float2); bool3 name(float3); bool4 name(float4);         \
  bool2 name(half2); bool3 name(half3); bool4 name(half4);
METAL_QUESTION(isfinite) METAL_QUESTION(isinf) METAL_QUESTION(isnan)
METAL_QUESTION(isnormal) METAL_QUESTION(signbit)

// A comparison of vectors is a vector of some whole numbers to clang: hence `Truths`.
bool all(bool);
bool any(bool);
template <class Truths> bool all(Truths);
template <class Truths> bool any(Truths);
#define METAL_SELECT(name, T) template <class Truths> T name(T, T, Truths);
METAL_FLOATS(METAL_SELECT, select)
METAL_INTEGERS(METAL_SELECT, select)
METAL_VECTORS_OF(METAL_SELECT, select, bool)
METAL_SELECT(select, bfloat)

#define METAL_GEOMETRY(T, V)                                     \
  T dot(V, V); T length(V); T length_squared(V);                 \
  T distance(V, V); T distance_squared(V, V); V normalize(V);    \
  V faceforward(V, V, V); V reflect(V, V); V refract(V, V, T);
METAL_GEOMETRY(float, float2) METAL_GEOMETRY(float, float3) METAL_GEOMETRY(float, float4)
METAL_GEOMETRY(half, half2) METAL_GEOMETRY(half, half3) METAL_GEOMETRY(half, half4)
float3 cross(float3, float3);
half3 cross(half3, half3);

}  // namespace metal
