/// The rows of `matvec_int8` with the dot products of ARM: registers of 128 bits.
///
/// `sdot` multiplies signed bytes by signed bytes. Weights of 4 bits are 0 to 15, which
/// are signed bytes as well. Of weights of 8 bits, 128 is subtracted, which flips their
/// highest bit, and the sum of the activations times 128 is added to the result. There
/// is no code for 2 bits: the portable one computes them.
#pragma once

#include "kernels/int8.h"
#include "kernels/instructions.h"
#include "kernels/numbers.h"
#include "kernels/quantized_matrix.h"

#if defined(__aarch64__) && defined(TINY_LLM_NEON_DOTPROD)

namespace tiny_llm {

namespace detail {

/// Unpack the 16 weights from number `i` of a block on, as signed bytes.
template <int bits, int block>
TINY_LLM_NEON_DOTPROD inline int8x16_t unpack_16(const std::uint8_t* bytes, int i) {
  if constexpr (bits == 8) {
    return vreinterpretq_s8_u8(veorq_u8(vld1q_u8(bytes + i), vdupq_n_u8(128)));
  }
  constexpr int plane = block / 2;
  const uint8x16_t packed = vld1q_u8(bytes + i % plane);
  return vreinterpretq_s8_u8(
      i < plane ? vandq_u8(packed, vdupq_n_u8(15)) : vshrq_n_u8(packed, 4));
}

/// Compute rows. With 8 bits, `ones` sums up the activations of each group.
template <int bits, int group_size, class Scale>
TINY_LLM_NEON_DOTPROD void matvec_neon(
    const Int8Activations& x, const QuantizedMatrix<Scale>& w, float* y, Rows rows) {
  constexpr int block = group_size < 64 ? group_size : 64;
  for (int o = rows.first; o < rows.last; ++o) {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(w.row(o));
    const std::int8_t* q = x.q;
    float32x4_t sum = vdupq_n_f32(0);
    float bias_sum = 0;
    for (int group = 0; group < w.groups(); ++group) {
      int32x4_t dots = vdupq_n_s32(0);
      int32x4_t ones = vdupq_n_s32(0);
      for (int first = 0; first < group_size; first += block) {
        for (int i = 0; i < block; i += 16) {
          const int8x16_t right = vld1q_s8(q + i);
          dots = vdotq_s32(dots, unpack_16<bits, block>(bytes, i), right);
          if constexpr (bits == 8) ones = vdotq_s32(ones, vdupq_n_s8(1), right);
        }
        bytes += block * bits / 8;
        q += block;
      }
      if constexpr (bits == 8) dots = vaddq_s32(dots, vshlq_n_s32(ones, 7));
      const float scale = to_float(w.row_scales(o)[group]) * x.scales[group];
      sum = vfmaq_n_f32(sum, vcvtq_f32_s32(dots), scale);
      bias_sum += to_float(w.row_biases(o)[group]) * x.sums[group];
    }
    y[o] = vaddvq_f32(sum) + bias_sum;
  }
}

}  // namespace detail

}  // namespace tiny_llm

#endif
