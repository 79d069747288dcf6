/// The rows of `matvec_int8` with AVX-VNNI: registers of 256 bits.
///
/// A block of 64 weights is two registers, one of 32 is one. There is no code for 2
/// bits: the portable one computes them.
#pragma once

#include "kernels/int8.h"
#include "kernels/instructions.h"
#include "kernels/numbers.h"
#include "kernels/quantized_matrix.h"

#if defined(__x86_64__)

namespace tiny_llm {

namespace detail {

/// Multiply a block of 64: two registers of weights by two of activations.
template <int bits>
TINY_LLM_AVX_VNNI inline __m256i add_block_64(
    __m256i dots, const std::uint8_t* bytes, const std::int8_t* q) {
  const auto* from = reinterpret_cast<const __m256i*>(bytes);
  const auto* right = reinterpret_cast<const __m256i*>(q);
  __m256i low = _mm256_loadu_si256(from);
  __m256i high;
  if constexpr (bits == 4) {
    const __m256i mask = _mm256_set1_epi8(15);
    high = _mm256_and_si256(_mm256_srli_epi16(low, 4), mask);
    low = _mm256_and_si256(low, mask);
  } else {
    high = _mm256_loadu_si256(from + 1);
  }
  dots = _mm256_dpbusd_avx_epi32(dots, low, _mm256_loadu_si256(right));
  return _mm256_dpbusd_avx_epi32(dots, high, _mm256_loadu_si256(right + 1));
}

/// Multiply a block of 32.
template <int bits>
TINY_LLM_AVX_VNNI inline __m256i add_block_32(
    __m256i dots, const std::uint8_t* bytes, const std::int8_t* q) {
  __m256i left;
  if constexpr (bits == 4) {
    const __m128i half = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes));
    const __m256i copies = _mm256_broadcastsi128_si256(half);
    const __m256i moved = _mm256_srlv_epi64(copies, _mm256_setr_epi64x(0, 0, 4, 4));
    left = _mm256_and_si256(moved, _mm256_set1_epi8(15));
  } else {
    left = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes));
  }
  const __m256i right = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(q));
  return _mm256_dpbusd_avx_epi32(dots, left, right);
}

TINY_LLM_AVX_VNNI inline float sum_of(__m256 numbers) {
  __m128 half =
      _mm_add_ps(_mm256_castps256_ps128(numbers), _mm256_extractf128_ps(numbers, 1));
  half = _mm_add_ps(half, _mm_movehl_ps(half, half));
  return _mm_cvtss_f32(_mm_add_ss(half, _mm_movehdup_ps(half)));
}

/// Compute rows. The scales are widened one by one: their share is small.
template <int bits, int group_size, class Scale>
TINY_LLM_AVX_VNNI void matvec_avx2(
    const Int8Activations& x, const QuantizedMatrix<Scale>& w, float* y, Rows rows) {
  constexpr int block = group_size < 64 ? group_size : 64;
  for (int o = rows.first; o < rows.last; ++o) {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(w.row(o));
    const std::int8_t* q = x.q;
    __m256 sum = _mm256_setzero_ps();
    float bias_sum = 0;
    for (int group = 0; group < w.groups(); ++group) {
      __m256i dots = _mm256_setzero_si256();
      for (int i = 0; i < group_size; i += block) {
        if constexpr (block == 64) {
          dots = add_block_64<bits>(dots, bytes, q);
        } else {
          dots = add_block_32<bits>(dots, bytes, q);
        }
        bytes += block * bits / 8;
        q += block;
      }
      const float scale = to_float(w.row_scales(o)[group]) * x.scales[group];
      sum = _mm256_fmadd_ps(_mm256_cvtepi32_ps(dots), _mm256_set1_ps(scale), sum);
      bias_sum += to_float(w.row_biases(o)[group]) * x.sums[group];
    }
    y[o] = sum_of(sum) + bias_sum;
  }
}

}  // namespace detail

}  // namespace tiny_llm

#endif
