/// The rows of `matvec_int8` for registers of 256 and of 128 bits: AVX2 and NEON.
///
/// What multiplies bytes is in dot_products.h. There is no code for 2 bits: the portable
/// one computes them.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/dot_products.h"
#include "kernels/int8.h"
#include "kernels/instructions.h"
#include "kernels/numbers.h"
#include "kernels/quantized_matrix.h"
#include "kernels/wide.h"

namespace tiny_llm {

namespace detail {

/// Multiply 32 weights of 4 bits, which fill half a register of 256 bits.
///
/// A copy of them is moved down by 4 bits, so that one half has the low parts of the
/// bytes and the other the high ones.
template <class Step>
TINY_LLM_INLINE inline void add_half(
    const std::uint8_t* bytes, const std::int8_t* q, void* dots) {
  using Halves __attribute__((vector_size(32))) = std::uint64_t;
  std::uint64_t half[2];
  std::memcpy(half, bytes, sizeof(half));
  const Halves copies = {half[0], half[1], half[0], half[1]};
  const Halves weights = (copies >> Halves{0, 0, 4, 4}) & 0x0f0f0f0f0f0f0f0fu;
  Step::add_products(&weights, q, dots);
}

/// How far ahead of a block the memory is asked for weights. On an AMD EPYC with AVX2,
/// two threads read a model of 180 MB in 11.4 ms so, and in 14.2 ms if nobody asks.
inline constexpr int ahead_bytes = 2048;

/// Multiply a block of weights by the activations that lie in the same order.
template <class Step, int bits, int size>
TINY_LLM_INLINE inline void add_block(
    const std::uint8_t* bytes, const std::int8_t* q, void* dots) {
  using Bytes = typename Vectors<Step::lanes>::Bytes;
  constexpr int plane = size * bits / 8;
  constexpr int step = sizeof(Bytes);
  if constexpr (plane < step) return add_half<Step>(bytes, q, dots);
  for (int i = 0; i < plane; i += step) {
    if constexpr (bits == 8) {
      Step::add_products(bytes + i, q + i, dots);
    } else {
      Bytes packed;
      load(bytes + i, packed);
      const Bytes low = packed & 15;
      const Bytes high = packed >> 4;
      if constexpr (Step::small_steps > 0) {
        Bytes shorts = {};
        Step::add_small_products(&low, q + i, &shorts);
        Step::add_small_products(&high, q + plane + i, &shorts);
        Step::add_shorts(&shorts, dots);
      } else {
        Step::add_products(&low, q + i, dots);
        Step::add_products(&high, q + plane + i, dots);
      }
    }
  }
}

/// Widen a scale or a bias: of 16 bits in one instruction, where plain C++ takes ten.
template <class Step, class Scale>
TINY_LLM_INLINE inline float widened(Scale number) {
  if constexpr (std::is_same_v<Scale, Float16>) {
    return Step::widened(number);
  } else {
    return to_float(number);
  }
}

/// Compute rows. The scales are widened one by one.
template <class Step, int bits, int group_size, class Scale>
TINY_LLM_INLINE inline void matvec_in_steps(
    const Int8Activations& x, const QuantizedMatrix<Scale>& w, float* y, Rows rows) {
  using Integers = typename Vectors<Step::lanes>::Integers;
  using Floats = typename Vectors<Step::lanes>::Floats;
  constexpr int block = group_size < 64 ? group_size : 64;
  for (int o = rows.first; o < rows.last; ++o) {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(w.row(o));
    const std::int8_t* q = x.q;
    Floats sums = {};
    float sum = 0;
    for (int group = 0; group < w.groups(); ++group) {
      Integers dots = {};
      for (int i = 0; i < group_size; i += block) {
        __builtin_prefetch(bytes + ahead_bytes);
        add_block<Step, bits, block>(bytes, q, &dots);
        bytes += block * bits / 8;
        q += block;
      }
      const float scale = widened<Step>(w.row_scales(o)[group]) * x.scales[group];
      sums += __builtin_convertvector(dots, Floats) * scale;
      sum += widened<Step>(w.row_biases(o)[group]) * x.sums[group];
    }
    for (int lane = 0; lane < Step::lanes; ++lane) sum += sums[lane];
    y[o] = sum;
  }
}

#if defined(__x86_64__)
template <int bits, int group_size, class Scale>
TINY_LLM_AVX2 void matvec_avx2(
    const Int8Activations& x, const QuantizedMatrix<Scale>& w, float* y, Rows rows) {
  matvec_in_steps<Avx2Step, bits, group_size>(x, w, y, rows);
}

template <int bits, int group_size, class Scale>
TINY_LLM_AVX_VNNI void matvec_avx_vnni(
    const Int8Activations& x, const QuantizedMatrix<Scale>& w, float* y, Rows rows) {
  matvec_in_steps<AvxVnniStep, bits, group_size>(x, w, y, rows);
}
#elif defined(__aarch64__)
template <int bits, int group_size, class Scale>
void matvec_neon(
    const Int8Activations& x, const QuantizedMatrix<Scale>& w, float* y, Rows rows) {
  matvec_in_steps<NeonStep, bits, group_size>(x, w, y, rows);
}
#endif

#if defined(__aarch64__) && defined(TINY_LLM_NEON_DOTPROD)
template <int bits, int group_size, class Scale>
TINY_LLM_NEON_DOTPROD void matvec_neon_dotprod(
    const Int8Activations& x, const QuantizedMatrix<Scale>& w, float* y, Rows rows) {
  matvec_in_steps<NeonDotprodStep, bits, group_size>(x, w, y, rows);
}
#endif

}  // namespace detail

}  // namespace tiny_llm
