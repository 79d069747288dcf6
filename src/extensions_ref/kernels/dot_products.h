/// Products of bytes in registers of 256 and of 128 bits: AVX2, AVX-VNNI and NEON.
///
///     dots[lane] += sum over 4 bytes of weights[lane, i] * activations[lane, i]
///
/// Each kind of instruction has its way for this one step, and all loops that are made
/// of it stand once: in matvec_narrow.h and in matmul_tiles_narrow.h. `add_products` is
/// given as many bytes as a register has, at any address, and `add_products_of_four`
/// four activations, which are for all lanes.
///
/// Weights are 0 to 255 and activations -127 to 127. Where both have to be signed bytes,
/// or a sum of two products has to fit 16 bits, weights are taken apart:
///
///     q = (q & 127) + (q & 128)
///
/// and the second part is left out where it is 0, as it is with 2 and 4 bits. Where
/// `small_steps` is not 0, `add_small_products` is quicker for weights below 16: it adds
/// up in 16 bits, which holds that many sums before `add_shorts` has to follow. `widened`
/// is what `to_float` does, in one instruction.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "kernels/instructions.h"
#include "kernels/numbers.h"

namespace tiny_llm {

namespace detail {

#if defined(__x86_64__)
/// `vpmaddubsw` adds two products in 16 bits, `vpmaddwd` then two of these sums in 32.
struct Avx2Step {
  static constexpr int lanes = 8;
  static constexpr int tokens_at_once = 6;  // of 16 registers, 12

  TINY_LLM_AVX2 static inline float widened(Float16 number) {
    return _cvtsh_ss(number.bits);
  }

  TINY_LLM_AVX2 static inline void add_products(
      const void* weights, const void* activations, void* dots) {
    add(weights, _mm256_loadu_si256(static_cast<const __m256i*>(activations)), dots);
  }

  TINY_LLM_AVX2 static inline void add_products_of_four(
      const void* weights, const void* activations, void* dots) {
    add(weights, four_of(activations), dots);
  }

  /// So many sums of products of small weights fit 16 bits: 8 * 2 * 15 * 127 < 2^15.
  static constexpr int small_steps = 8;

  TINY_LLM_AVX2 static inline void add_small_products(
      const void* weights, const void* activations, void* shorts) {
    const void* const e = activations;
    add_small(weights, _mm256_loadu_si256(static_cast<const __m256i*>(e)), shorts);
  }

  TINY_LLM_AVX2 static inline void add_small_products_of_four(
      const void* weights, const void* activations, void* shorts) {
    add_small(weights, four_of(activations), shorts);
  }

  /// Add sums of 16 bits in pairs to those of 32.
  TINY_LLM_AVX2 static inline void add_shorts(const void* shorts, void* dots) {
    const __m256i sums = _mm256_loadu_si256(static_cast<const __m256i*>(shorts));
    __m256i* const to = static_cast<__m256i*>(dots);  // `auto` may not alias
    *to = _mm256_add_epi32(*to, _mm256_madd_epi16(sums, _mm256_set1_epi16(1)));
  }

 private:
  TINY_LLM_AVX2 static inline __m256i four_of(const void* activations) {
    std::int32_t four;
    std::memcpy(&four, activations, 4);
    return _mm256_set1_epi32(four);
  }

  TINY_LLM_AVX2 static inline void add_small(
      const void* weights, __m256i e, void* shorts) {
    const __m256i q = _mm256_loadu_si256(static_cast<const __m256i*>(weights));
    __m256i* const to = static_cast<__m256i*>(shorts);
    *to = _mm256_add_epi16(*to, _mm256_maddubs_epi16(q, e));
  }

  TINY_LLM_AVX2 static inline void add(const void* weights, __m256i e, void* dots) {
    const __m256i q = _mm256_loadu_si256(static_cast<const __m256i*>(weights));
    const __m256i low = _mm256_and_si256(q, _mm256_set1_epi8(127));
    const __m256i sums = _mm256_maddubs_epi16(low, e);
    add_shorts(&sums, dots);
    if (_mm256_movemask_epi8(q) == 0) return;  // no byte has its highest bit
    const __m256i high = _mm256_andnot_si256(_mm256_set1_epi8(127), q);
    const __m256i more = _mm256_maddubs_epi16(high, e);
    add_shorts(&more, dots);
  }
};

/// `vpdpbusd` does all of it.
struct AvxVnniStep {
  static constexpr int lanes = 8;
  static constexpr int tokens_at_once = 6;  // of 16 registers, 12
  static constexpr int small_steps = 0;

  TINY_LLM_AVX_VNNI static inline float widened(Float16 number) {
    return _cvtsh_ss(number.bits);
  }

  TINY_LLM_AVX_VNNI static inline void add_products(
      const void* weights, const void* activations, void* dots) {
    add(weights, _mm256_loadu_si256(static_cast<const __m256i*>(activations)), dots);
  }

  TINY_LLM_AVX_VNNI static inline void add_products_of_four(
      const void* weights, const void* activations, void* dots) {
    std::int32_t four;
    std::memcpy(&four, activations, 4);
    add(weights, _mm256_set1_epi32(four), dots);
  }

 private:
  TINY_LLM_AVX_VNNI static inline void add(const void* weights, __m256i e, void* dots) {
    const __m256i q = _mm256_loadu_si256(static_cast<const __m256i*>(weights));
    __m256i* const to = static_cast<__m256i*>(dots);  // `auto` may not alias
    *to = _mm256_dpbusd_avx_epi32(*to, q, e);
  }
};
#endif

#if defined(__aarch64__)
/// `smull` multiplies eight bytes, `addp` adds pairs of products in 16 bits, `sadalp`
/// pairs of these sums in 32. The second part of weights is -128 as a signed byte.
struct NeonStep {
  static constexpr int lanes = 4;
  static constexpr int tokens_at_once = 12;  // of 32 registers, 24
  static constexpr int small_steps = 0;

  static inline float widened(Float16 number) {
    return static_cast<float>(std::bit_cast<__fp16>(number.bits));
  }

  static inline void add_products(
      const void* weights, const void* activations, void* dots) {
    add(weights, vld1q_s8(static_cast<const std::int8_t*>(activations)), dots);
  }

  static inline void add_products_of_four(
      const void* weights, const void* activations, void* dots) {
    std::int32_t four;
    std::memcpy(&four, activations, 4);
    add(weights, vreinterpretq_s8_s32(vdupq_n_s32(four)), dots);
  }

 private:
  static inline int32x4_t products(int8x16_t q, int8x16_t e) {
    const int16x8_t low = vmull_s8(vget_low_s8(q), vget_low_s8(e));
    const int16x8_t high = vmull_high_s8(q, e);
    return vpaddlq_s16(vpaddq_s16(low, high));
  }

  static inline void add(const void* weights, int8x16_t e, void* dots) {
    const uint8x16_t q = vld1q_u8(static_cast<const std::uint8_t*>(weights));
    const uint8x16_t low = vandq_u8(q, vdupq_n_u8(127));
    auto* const to = static_cast<std::int32_t*>(dots);
    int32x4_t sums = vld1q_s32(to);
    sums = vaddq_s32(sums, products(vreinterpretq_s8_u8(low), e));
    const uint8x16_t high = vandq_u8(q, vdupq_n_u8(128));
    if (vmaxvq_u8(high) != 0) {
      sums = vsubq_s32(sums, products(vreinterpretq_s8_u8(high), e));
    }
    vst1q_s32(to, sums);
  }
};
#endif

#if defined(__aarch64__) && defined(TINY_LLM_NEON_DOTPROD)
/// `sdot` does all of it but for the second part of weights.
struct NeonDotprodStep {
  static constexpr int lanes = 4;
  static constexpr int tokens_at_once = 12;  // of 32 registers, 24
  static constexpr int small_steps = 0;

  static inline float widened(Float16 number) {
    return static_cast<float>(std::bit_cast<__fp16>(number.bits));
  }

  TINY_LLM_NEON_DOTPROD static inline void add_products(
      const void* weights, const void* activations, void* dots) {
    add(weights, vld1q_s8(static_cast<const std::int8_t*>(activations)), dots);
  }

  TINY_LLM_NEON_DOTPROD static inline void add_products_of_four(
      const void* weights, const void* activations, void* dots) {
    std::int32_t four;
    std::memcpy(&four, activations, 4);
    add(weights, vreinterpretq_s8_s32(vdupq_n_s32(four)), dots);
  }

 private:
  TINY_LLM_NEON_DOTPROD static inline void add(
      const void* weights, int8x16_t e, void* dots) {
    const uint8x16_t q = vld1q_u8(static_cast<const std::uint8_t*>(weights));
    const uint8x16_t low = vandq_u8(q, vdupq_n_u8(127));
    auto* const to = static_cast<std::int32_t*>(dots);
    int32x4_t sums = vdotq_s32(vld1q_s32(to), vreinterpretq_s8_u8(low), e);
    const int8x16_t high = vreinterpretq_s8_u8(vandq_u8(q, vdupq_n_u8(128)));
    if (vminvq_s8(high) != 0) {
      sums = vsubq_s32(sums, vdotq_s32(vdupq_n_s32(0), high, e));
    }
    vst1q_s32(to, sums);
  }
};
#endif

}  // namespace detail

}  // namespace tiny_llm
