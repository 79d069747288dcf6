/// Tiles of a product for registers of 256 and of 128 bits: AVX2, AVX-VNNI and NEON.
///
/// A panel is wider than these registers, so a tile takes the outputs of a register at a
/// time: a token then has one register of dot products and one of results, as with
/// AVX-512. The loops stand here once. What differs is the one step that multiplies four weights
/// of each output by four activations, which each kind of instruction has its way for.
///
/// Weights are 0 to 255 and activations -127 to 127. Where both have to be signed bytes,
/// or a sum of two products has to fit 16 bits, weights are taken apart:
///
///     q = (q & 127) + (q & 128)
///
/// and the second part is left out where it is 0, as it is with 2 and 4 bits.
///
/// `multiply_tile`, at the end, finds what multiplies a tile on this processor.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/instructions.h"
#include "kernels/matmul_tiles.h"
#include "kernels/panel.h"
#include "kernels/wide.h"

namespace tiny_llm {

namespace detail {

/// Where a part of a tile begins.
struct Part {
  int row;
  int token;
};

/// Multiply as many outputs as fill a register, for some tokens.
template <class Step, int num_tokens>
TINY_LLM_INLINE inline void multiply_part(
    const Panel& panel, const Tokens& x, const Outputs& y, Inputs inputs, Part part) {
  using Sums = typename Vectors<Step::lanes>::Integers;
  using Results = typename Vectors<Step::lanes>::Floats;
  Results results[num_tokens] = {};
  const std::uint8_t* q = panel.q + part.row * 4;
  const std::int8_t* e = x.e + part.token * 4;
  for (int g = 0; g < inputs.num_groups; ++g) {
    Sums dots[num_tokens] = {};
    for (int k = 0; k < inputs.num_quads; ++k) {
#pragma GCC unroll 12
      for (int t = 0; t < num_tokens; ++t) Step::add_products(q, e + t * 4, &dots[t]);
      q += panel_rows * 4;
      e += x.num_tokens * 4;
    }
    Results scales, biases;
    load(panel.scales + g * panel_rows + part.row, scales);
    load(panel.biases + g * panel_rows + part.row, biases);
#pragma GCC unroll 12
    for (int t = 0; t < num_tokens; ++t) {
      const int at = g * x.num_tokens + part.token + t;
      const Results scaled = __builtin_convertvector(dots[t], Results) * scales;
      results[t] += biases * x.sums[at];
      results[t] += scaled * x.scales[at];
    }
  }
  const int num_rows = std::min(Step::lanes, y.num_rows - part.row);
  for (int t = 0; t < num_tokens; ++t) {
    float outputs[Step::lanes];
    store(results[t], outputs);
    std::copy_n(outputs, num_rows, y.first + (part.token + t) * y.stride + part.row);
  }
}

/// Multiply a tile from a token on: so many at once, and those that are left by halves.
template <class Step, int at_once>
TINY_LLM_INLINE inline void multiply_parts(
    const Panel& panel, const Tokens& x, const Outputs& y, Inputs inputs, int token) {
  for (; token + at_once <= x.num_tokens; token += at_once) {
    for (int row = 0; row < y.num_rows; row += Step::lanes) {
      multiply_part<Step, at_once>(panel, x, y, inputs, {row, token});
    }
  }
  if constexpr (at_once > 1) {
    multiply_parts<Step, at_once / 2>(panel, x, y, inputs, token);
  }
}

#if defined(__x86_64__)
/// `vpmaddubsw` adds two products in 16 bits, `vpmaddwd` then two of these sums in 32.
struct Avx2Step {
  static constexpr int lanes = 8;
  static constexpr int tokens_at_once = 6;  // of 16 registers, 12

  TINY_LLM_AVX2 static inline void add_products(
      const std::uint8_t* q, const std::int8_t* e, void* dots) {
    const __m256i weights = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(q));
    int four;
    std::memcpy(&four, e, 4);
    const __m256i activations = _mm256_set1_epi32(four);
    const __m256i ones = _mm256_set1_epi16(1);
    const __m256i low = _mm256_and_si256(weights, _mm256_set1_epi8(127));
    const __m256i sums = _mm256_maddubs_epi16(low, activations);
    __m256i* const to = static_cast<__m256i*>(dots);  // `auto` may not alias
    *to = _mm256_add_epi32(*to, _mm256_madd_epi16(sums, ones));
    if (_mm256_movemask_epi8(weights) == 0) return;  // no byte has its highest bit
    const __m256i high = _mm256_andnot_si256(_mm256_set1_epi8(127), weights);
    const __m256i more = _mm256_maddubs_epi16(high, activations);
    *to = _mm256_add_epi32(*to, _mm256_madd_epi16(more, ones));
  }

  TINY_LLM_AVX2 static void multiply(
      const Panel& panel, const Tokens& x, const Outputs& y, Inputs inputs) {
    multiply_parts<Avx2Step, tokens_at_once>(panel, x, y, inputs, 0);
  }
};

/// `vpdpbusd` does all of it.
struct AvxVnniStep {
  static constexpr int lanes = 8;
  static constexpr int tokens_at_once = 6;  // of 16 registers, 12

  TINY_LLM_AVX_VNNI static inline void add_products(
      const std::uint8_t* q, const std::int8_t* e, void* dots) {
    const __m256i weights = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(q));
    int four;
    std::memcpy(&four, e, 4);
    __m256i* const to = static_cast<__m256i*>(dots);  // `auto` may not alias
    *to = _mm256_dpbusd_avx_epi32(*to, weights, _mm256_set1_epi32(four));
  }

  TINY_LLM_AVX_VNNI static void multiply(
      const Panel& panel, const Tokens& x, const Outputs& y, Inputs inputs) {
    multiply_parts<AvxVnniStep, tokens_at_once>(panel, x, y, inputs, 0);
  }
};
#endif

#if defined(__aarch64__)
/// `smull` multiplies eight bytes, `addp` adds pairs of products in 16 bits, `sadalp`
/// pairs of these sums in 32. The second part of weights is -128 as a signed byte.
struct NeonStep {
  static constexpr int lanes = 4;
  static constexpr int tokens_at_once = 12;  // of 32 registers, 24

  static inline int32x4_t products(int8x16_t weights, int8x16_t activations) {
    const int16x8_t low = vmull_s8(vget_low_s8(weights), vget_low_s8(activations));
    const int16x8_t high = vmull_high_s8(weights, activations);
    return vpaddlq_s16(vpaddq_s16(low, high));
  }

  static inline void add_products(
      const std::uint8_t* q, const std::int8_t* e, void* dots) {
    const uint8x16_t weights = vld1q_u8(q);
    std::int32_t four;
    std::memcpy(&four, e, 4);
    const int8x16_t activations = vreinterpretq_s8_s32(vdupq_n_s32(four));
    const uint8x16_t low = vandq_u8(weights, vdupq_n_u8(127));
    auto* const to = static_cast<std::int32_t*>(dots);
    int32x4_t sums = vld1q_s32(to);
    sums = vaddq_s32(sums, products(vreinterpretq_s8_u8(low), activations));
    const uint8x16_t high = vandq_u8(weights, vdupq_n_u8(128));
    if (vmaxvq_u8(high) != 0) {
      sums = vsubq_s32(sums, products(vreinterpretq_s8_u8(high), activations));
    }
    vst1q_s32(to, sums);
  }

  static void multiply(
      const Panel& panel, const Tokens& x, const Outputs& y, Inputs inputs) {
    multiply_parts<NeonStep, tokens_at_once>(panel, x, y, inputs, 0);
  }
};
#endif

#if defined(__aarch64__) && defined(TINY_LLM_NEON_DOTPROD)
/// `sdot` does all of it but for the second part of weights.
struct NeonDotprodStep {
  static constexpr int lanes = 4;
  static constexpr int tokens_at_once = 12;  // of 32 registers, 24

  TINY_LLM_NEON_DOTPROD static inline void add_products(
      const std::uint8_t* q, const std::int8_t* e, void* dots) {
    const uint8x16_t weights = vld1q_u8(q);
    std::int32_t four;
    std::memcpy(&four, e, 4);
    const int8x16_t activations = vreinterpretq_s8_s32(vdupq_n_s32(four));
    const uint8x16_t low = vandq_u8(weights, vdupq_n_u8(127));
    auto* const to = static_cast<std::int32_t*>(dots);
    int32x4_t sums = vdotq_s32(vld1q_s32(to), vreinterpretq_s8_u8(low), activations);
    const int8x16_t high = vreinterpretq_s8_u8(vandq_u8(weights, vdupq_n_u8(128)));
    if (vminvq_s8(high) != 0) {
      sums = vsubq_s32(sums, vdotq_s32(vdupq_n_s32(0), high, activations));
    }
    vst1q_s32(to, sums);
  }

  TINY_LLM_NEON_DOTPROD static void multiply(
      const Panel& panel, const Tokens& x, const Outputs& y, Inputs inputs) {
    multiply_parts<NeonDotprodStep, tokens_at_once>(panel, x, y, inputs, 0);
  }
};
#endif

/// Find what multiplies a tile of 1 to 12 tokens.
inline MultiplyTile multiply_tile([[maybe_unused]] int num_tokens) {
  switch (instructions()) {
#if defined(__x86_64__)
    case Instructions::avx512_vnni:
      return tiles_avx512[static_cast<std::size_t>(num_tokens - 1)];
    case Instructions::avx_vnni: return AvxVnniStep::multiply;
    case Instructions::avx2: return Avx2Step::multiply;
#elif defined(__aarch64__) && defined(TINY_LLM_NEON_DOTPROD)
    case Instructions::neon_dotprod: return NeonDotprodStep::multiply;
    case Instructions::neon: return NeonStep::multiply;
#elif defined(__aarch64__)
    case Instructions::neon: return NeonStep::multiply;
#endif
    default: return multiply_tile_portable;
  }
}

}  // namespace detail

}  // namespace tiny_llm
