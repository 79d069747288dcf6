#pragma once
// All that a kernel may name, for the check of the dialect: Metal's library, and what
// MLX puts before each custom kernel.
#include "groups.h"

using namespace metal;

#define MLX_MTL_PRAGMA_UNROLL

typedef half float16_t;
typedef bfloat bfloat16_t;
uint16_t bfloat16_to_uint16(const bfloat16_t);
bfloat16_t uint16_to_bfloat16(const uint16_t);

template <class T> struct Limits {
  static const constant T max;
  static const constant T min;
  static const constant T finite_max;
  static const constant T finite_min;
};

template <class T, class U> T ceildiv(T, U);
template <class Index = int64_t>
Index elem_to_loc(Index, constant const int*, constant const int64_t*, int);
float log1p(float);
bfloat log1p(bfloat);

// Last, so that they meet the source alone: how vectors are put together.
#define bool2(...) ::metal::make_vec<bool, 2>(__VA_ARGS__)
#define bool3(...) ::metal::make_vec<bool, 3>(__VA_ARGS__)
#define bool4(...) ::metal::make_vec<bool, 4>(__VA_ARGS__)
#define char2(...) ::metal::make_vec<char, 2>(__VA_ARGS__)
#define char3(...) ::metal::make_vec<char, 3>(__VA_ARGS__)
#define char4(...) ::metal::make_vec<char, 4>(__VA_ARGS__)
#define uchar2(...) ::metal::make_vec<uchar, 2>(__VA_ARGS__)
#define uchar3(...) ::metal::make_vec<uchar, 3>(__VA_ARGS__)
#define uchar4(...) ::metal::make_vec<uchar, 4>(__VA_ARGS__)
#define short2(...) ::metal::make_vec<short, 2>(__VA_ARGS__)
#define short3(...) ::metal::make_vec<short, 3>(__VA_ARGS__)
#define short4(...) ::metal::make_vec<short, 4>(__VA_ARGS__)
#define ushort2(...) ::metal::make_vec<ushort, 2>(__VA_ARGS__)
#define ushort3(...) ::metal::make_vec<ushort, 3>(__VA_ARGS__)
#define ushort4(...) ::metal::make_vec<ushort, 4>(__VA_ARGS__)
#define int2(...) ::metal::make_vec<int, 2>(__VA_ARGS__)
#define int3(...) ::metal::make_vec<int, 3>(__VA_ARGS__)
#define int4(...) ::metal::make_vec<int, 4>(__VA_ARGS__)
#define uint2(...) ::metal::make_vec<uint, 2>(__VA_ARGS__)
#define uint3(...) ::metal::make_vec<uint, 3>(__VA_ARGS__)
#define uint4(...) ::metal::make_vec<uint, 4>(__VA_ARGS__)
#define long2(...) ::metal::make_vec<long, 2>(__VA_ARGS__)
#define long3(...) ::metal::make_vec<long, 3>(__VA_ARGS__)
#define long4(...) ::metal::make_vec<long, 4>(__VA_ARGS__)
#define ulong2(...) ::metal::make_vec<ulong, 2>(__VA_ARGS__)
#define ulong3(...) ::metal::make_vec<ulong, 3>(__VA_ARGS__)
#define ulong4(...) ::metal::make_vec<ulong, 4>(__VA_ARGS__)
#define float2(...) ::metal::make_vec<float, 2>(__VA_ARGS__)
#define float3(...) ::metal::make_vec<float, 3>(__VA_ARGS__)
#define float4(...) ::metal::make_vec<float, 4>(__VA_ARGS__)
#define half2(...) ::metal::make_vec<half, 2>(__VA_ARGS__)
#define half3(...) ::metal::make_vec<half, 3>(__VA_ARGS__)
#define half4(...) ::metal::make_vec<half, 4>(__VA_ARGS__)
#define bfloat2(...) ::metal::make_vec<bfloat, 2>(__VA_ARGS__)
#define bfloat3(...) ::metal::make_vec<bfloat, 3>(__VA_ARGS__)
#define bfloat4(...) ::metal::make_vec<bfloat, 4>(__VA_ARGS__)
