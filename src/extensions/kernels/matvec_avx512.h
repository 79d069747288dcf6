/// The rows of `matvec_int8` with AVX-512 VNNI.
///
/// `vpdpbusd` multiplies 64 weights, unsigned bytes, by 64 activations, signed bytes,
/// and adds each four products to one of 16 integers of 32 bits: one block of a row.
/// A block of 32 takes a register of half the width.
#pragma once

#include "kernels/int8.h"
#include "kernels/instructions.h"
#include "kernels/numbers.h"
#include "kernels/quantized_matrix.h"

#if defined(__x86_64__)

namespace tiny_llm {

namespace detail {

/// Widen up to 16 scales: those that the mask names.
TINY_LLM_AVX512_VNNI inline __m512 load_floats(__mmask16 mask, const float* from) {
  return _mm512_maskz_loadu_ps(mask, from);
}
TINY_LLM_AVX512_VNNI inline __m512 load_floats(__mmask16 mask, const Float16* from) {
  return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(mask, from));
}
TINY_LLM_AVX512_VNNI inline __m512 load_floats(__mmask16 mask, const BFloat16* from) {
  const __m512i wide = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, from));
  return _mm512_castsi512_ps(_mm512_slli_epi32(wide, 16));
}

/// Unpack 64 weights: each plane is a copy of the bytes, shifted and masked.
template <int bits>
TINY_LLM_AVX512_VNNI inline __m512i unpack_64(const std::uint8_t* bytes) {
  if constexpr (bits == 2) {
    const __m128i packed = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes));
    const __m512i shifts = _mm512_setr_epi64(0, 0, 2, 2, 4, 4, 6, 6);
    const __m512i planes = _mm512_srlv_epi64(_mm512_broadcast_i32x4(packed), shifts);
    return _mm512_and_si512(planes, _mm512_set1_epi8(3));
  } else if constexpr (bits == 4) {
    const __m256i packed = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes));
    const __m512i shifts = _mm512_setr_epi64(0, 0, 0, 0, 4, 4, 4, 4);
    const __m512i planes = _mm512_srlv_epi64(_mm512_broadcast_i64x4(packed), shifts);
    return _mm512_and_si512(planes, _mm512_set1_epi8(15));
  } else {
    return _mm512_loadu_si512(bytes);
  }
}

/// Unpack 32 weights.
template <int bits>
TINY_LLM_AVX512_VNNI inline __m256i unpack_32(const std::uint8_t* bytes) {
  if constexpr (bits == 2) {
    const __m128i packed = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(bytes));
    const __m256i shifts = _mm256_setr_epi64x(0, 2, 4, 6);
    const __m256i planes = _mm256_srlv_epi64(_mm256_broadcastq_epi64(packed), shifts);
    return _mm256_and_si256(planes, _mm256_set1_epi8(3));
  } else if constexpr (bits == 4) {
    const __m128i packed = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes));
    const __m256i shifts = _mm256_setr_epi64x(0, 0, 4, 4);
    const __m256i planes =
        _mm256_srlv_epi64(_mm256_broadcastsi128_si256(packed), shifts);
    return _mm256_and_si256(planes, _mm256_set1_epi8(15));
  } else {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes));
  }
}

/// Multiply a group: 16 numbers whose sum is the integer product.
template <int bits, int group_size>
TINY_LLM_AVX512_VNNI inline __m512 dot_group(
    const std::uint8_t* bytes, const std::int8_t* q) {
  if constexpr (group_size == 32) {
    const __m256i right = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(q));
    const __m256i dots =
        _mm256_dpbusd_epi32(_mm256_setzero_si256(), unpack_32<bits>(bytes), right);
    return _mm512_zextps256_ps512(_mm256_cvtepi32_ps(dots));
  } else {
    __m512i dots = _mm512_setzero_si512();
    for (int i = 0; i < group_size; i += 64) {
      const __m512i left = unpack_64<bits>(bytes + i * bits / 8);
      dots = _mm512_dpbusd_epi32(dots, left, _mm512_loadu_si512(q + i));
    }
    return _mm512_cvtepi32_ps(dots);
  }
}

/// Memory answers after some 100 ns. In that time a core reads about 2 KB of a row and
/// of the next ones. An address behind the end of the matrix does no harm.
constexpr int kAhead = 2048;

/// Compute a row, with scales and biases taken 16 groups at a time.
///
/// An addition takes four cycles, so groups go into two sums by turns. Rows are not
/// taken side by side: memory is read fastest from one end to the other.
template <int bits, int group_size, class Scale>
TINY_LLM_AVX512_VNNI inline float row_avx512(
    const Int8Activations& x, const std::uint8_t* bytes, const Scale* scales,
    const Scale* biases, int groups) {
  constexpr int group_bytes = group_size * bits / 8;
  const std::int8_t* q = x.q;
  __m512 even = _mm512_setzero_ps();
  __m512 odd = _mm512_setzero_ps();
  for (int first = 0; first < groups; first += 16) {
    const int count = std::min(16, groups - first);
    const auto mask = static_cast<__mmask16>((1u << count) - 1);
    alignas(64) float products[16];
    _mm512_store_ps(
        products, _mm512_mul_ps(
                      load_floats(mask, scales + first),
                      load_floats(mask, x.scales + first)));
    odd = _mm512_fmadd_ps(
        load_floats(mask, biases + first), load_floats(mask, x.sums + first), odd);
    const auto add = [&](int group, __m512 sum) TINY_LLM_AVX512_VNNI {
      const __m512 dots = dot_group<bits, group_size>(bytes, q);
      _mm_prefetch(bytes + kAhead, _MM_HINT_T0);
      bytes += group_bytes;
      q += group_size;
      return _mm512_fmadd_ps(dots, _mm512_set1_ps(products[group]), sum);
    };
    int group = 0;
    for (; group + 2 <= count; group += 2) {
      even = add(group, even);
      odd = add(group + 1, odd);
    }
    if (group < count) even = add(group, even);
  }
  return _mm512_reduce_add_ps(_mm512_add_ps(even, odd));
}

/// Compute rows.
template <int bits, int group_size, class Scale>
TINY_LLM_AVX512_VNNI void matvec_avx512(
    const Int8Activations& x, const QuantizedMatrix<Scale>& w, float* y, Rows rows) {
  const int groups = w.groups();
  for (int o = rows.first; o < rows.last; ++o) {
    const auto* const bytes = reinterpret_cast<const std::uint8_t*>(w.row(o));
    y[o] = row_avx512<bits, group_size>(
        x, bytes, w.row_scales(o), w.row_biases(o), groups);
  }
}

}  // namespace detail

}  // namespace tiny_llm

#endif
