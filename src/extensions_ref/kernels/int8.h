/// Activations rounded to 8 bits, in groups that meet those of the weights.
///
///     scale = max(|x|) / 127 over the group,   q = round(x / scale),   |q| <= 127
///
/// A processor multiplies and adds 64 pairs of bytes in the time that it needs for 16
/// pairs of floats. Weights are bytes, or parts of bytes, already. With
///
///     w = s_w * q_w + b_w,   x ~ s_x * q
///
/// a group's share of a product of weights and activations is
///
///     s_w * s_x * sum(q_w * q) + b_w * s_x * sum(q)
///
/// where both sums have integers only, and the second one has no weights in it: `sums`
/// holds s_x * sum(q). The sum of the x themselves would be no better. An error e of x
/// counts w * e as it is, and would count s_w * q_w * e: w is small, and b_w is not.
///
/// q is stored in the order in which unpacked weights come. A byte holds 8 / bits of
/// them, so a block of N = min(group_size, 64) weights is N * bits / 8 bytes. One mask
/// takes the lowest weight of all bytes, a shift and a mask the next, and so on:
///
///     4 bits:  q0 q2 q4 ... q62 | q1 q3 q5 ... q63
///     2 bits:  q0 q4 q8 ... q60 | q1 q5 ... | q2 q6 ... | q3 q7 ... q63
///     8 bits:  q0 q1 q2 ... q63
///
/// x must be finite. Arrays are contiguous and do not overlap.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

// What is not beside this file is in src/extensions_shared/kernels.
#include "kernels/instructions.h"

namespace tiny_llm {

/// A vector of I activations in 8 bits, which this struct does not own.
struct Int8Activations {
  std::int8_t* q;   ///< I, block after block, in the order above
  float* scales;    ///< I / group_size
  float* sums;      ///< I / group_size: of the rounded x, s_x * sum(q)
  int num_columns;  ///< I: 1 group or more
  int group_size;   ///< 32, 64 or 128, as that of the weights
  int bits;         ///< 2, 4 or 8, as those of the weights

  int groups() const { return num_columns / group_size; }
  int block_size() const { return std::min(group_size, 64); }
};

namespace detail {

/// The lowest bits of `number` + this are `number`, rounded to the nearest integer.
inline constexpr float rounder = 0x1.8p23f;

/// Below this the factor 127 / max(|x|) is no float any more. It is nothing beside 1.
inline constexpr float negligible = 0x1p-110f;

/// The largest magnitude of a group. Eight at a time, whatever the compiler does.
inline float largest_of(const float* x, int size) {
  float largest[8] = {};
  for (int i = 0; i < size; i += 8) {
    for (int lane = 0; lane < 8; ++lane) {
      const float magnitude = std::fabs(x[i + lane]);
      largest[lane] = magnitude > largest[lane] ? magnitude : largest[lane];
    }
  }
  return *std::max_element(largest, largest + 8);
}

/// Round a block of 32 or 64 numbers into the order of the unpacked weights.
template <int per_byte, int size>
void round_block(const float* x, float factor, std::int8_t* q) {
  constexpr int plane = size / per_byte;
  for (int part = 0; part < per_byte; ++part) {
    for (int i = 0; i < plane; ++i) {
      const float number = x[i * per_byte + part] * factor + rounder;
      q[part * plane + i] = static_cast<std::int8_t>(std::bit_cast<std::uint32_t>(number));
    }
  }
}

template <int per_byte>
void round_block(const float* x, float factor, int size, std::int8_t* q) {
  if (size == 32) return round_block<per_byte, 32>(x, factor, q);
  round_block<per_byte, 64>(x, factor, q);
}

inline void round_block(
    const float* x, float factor, int bits, int size, std::int8_t* q) {
  if (bits == 2) return round_block<4>(x, factor, size, q);
  if (bits == 4) return round_block<2>(x, factor, size, q);
  round_block<1>(x, factor, size, q);
}

#if defined(__x86_64__)
/// Round all groups, 16 numbers at a time, for weights of 4 or 8 bits.
TINY_LLM_AVX512_VNNI inline void quantize_avx512(
    const float* x, const Int8Activations& to) {
  const __m512i even =
      _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  const __m512i odd = _mm512_add_epi32(even, _mm512_set1_epi32(1));
  const int half = to.block_size() / 2;
  for (int g = 0; g < to.groups(); ++g) {
    const int first = g * to.group_size;
    __m512 magnitudes = _mm512_setzero_ps();
    for (int i = first; i < first + to.group_size; i += 16) {
      const __m512 numbers = _mm512_loadu_ps(x + i);
      magnitudes = _mm512_max_ps(magnitudes, _mm512_abs_ps(numbers));
    }
    const float largest = _mm512_reduce_max_ps(magnitudes);
    const bool is_nothing = largest < negligible;
    const __m512 factor = _mm512_set1_ps(is_nothing ? 0 : 127 / largest);
    __m512i sums = _mm512_setzero_si512();
    for (int i = 0; i < to.group_size; i += 32) {
      const float* const from = x + first + i;
      __m512i a = _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_loadu_ps(from), factor));
      __m512i b = _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_loadu_ps(from + 16), factor));
      sums = _mm512_add_epi32(sums, _mm512_add_epi32(a, b));
      std::int8_t* q = to.q + first + i;
      if (to.bits == 4) {
        const __m512i evens = _mm512_permutex2var_epi32(a, even, b);
        b = _mm512_permutex2var_epi32(a, odd, b);
        a = evens;
        q -= i % (2 * half) / 2;
      }
      const __m128i bytes[] = {_mm512_cvtepi32_epi8(a), _mm512_cvtepi32_epi8(b)};
      std::memcpy(q, &bytes[0], 16);
      std::memcpy(q + (to.bits == 4 ? half : 16), &bytes[1], 16);
    }
    to.scales[g] = is_nothing ? 0 : largest / 127;
    to.sums[g] = to.scales[g] * static_cast<float>(_mm512_reduce_add_epi32(sums));
  }
}
#endif

}  // namespace detail

/// Round x to 8 bits: fill `to.q`, `to.scales` and `to.sums`.
///
/// x: I = to.num_columns. A group of zeros has the scale 0.
inline void quantize_activations(const float* x, const Int8Activations& to) {
#if defined(__x86_64__)
  if (instructions() == Instructions::avx512_vnni && to.bits != 2) {
    return detail::quantize_avx512(x, to);
  }
#endif
  for (int group = 0; group < to.groups(); ++group) {
    const int first = group * to.group_size;
    const float largest = detail::largest_of(x + first, to.group_size);
    const bool is_nothing = largest < detail::negligible;
    to.scales[group] = is_nothing ? 0 : largest / 127;
    const float factor = is_nothing ? 0 : 127 / largest;
    const int size = to.block_size();
    for (int i = first; i < first + to.group_size; i += size) {
      detail::round_block(x + i, factor, to.bits, size, to.q + i);
    }
    int sum = 0;
    for (int i = first; i < first + to.group_size; ++i) sum += to.q[i];
    to.sums[group] = to.scales[group] * static_cast<float>(sum);
  }
}

/// Memory for activations in 8 bits, kept from one product to the next.
class Int8Buffer {
 public:
  /// Round x, a vector of I, for weights of this format.
  ///
  /// The result is good until the next call.
  Int8Activations round(const float* x, int num_columns, int group_size, int bits) {
    const auto size = static_cast<std::size_t>(num_columns);
    const std::size_t groups = size / static_cast<std::size_t>(group_size);
    if (q_.size() < size) q_.resize(size);
    if (scales_.size() < groups) scales_.resize(groups);
    if (sums_.size() < groups) sums_.resize(groups);
    const Int8Activations to{
        q_.data(), scales_.data(), sums_.data(), num_columns, group_size, bits};
    quantize_activations(x, to);
    return to;
  }

 private:
  std::vector<std::int8_t> q_;
  std::vector<float> scales_;
  std::vector<float> sums_;
};

}  // namespace tiny_llm
