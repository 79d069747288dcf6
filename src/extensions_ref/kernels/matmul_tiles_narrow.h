/// Tiles of a product for registers of 256 and of 128 bits: AVX2, AVX-VNNI and NEON.
///
/// A panel is wider than these registers, so a tile takes the outputs of a register at a
/// time: a token then has one register of dot products and one of results, as with
/// AVX-512. What multiplies bytes is in dot_products.h.
///
/// `multiply_tile`, at the end, finds what multiplies a tile on this processor.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/dot_products.h"
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
template <class Step, bool is_small, int num_tokens>
TINY_LLM_INLINE inline void multiply_part(
    const Panel& panel, const Tokens& x, const Outputs& y, Inputs inputs, Part part) {
  using Sums = typename Vectors<Step::lanes>::Integers;
  using Results = typename Vectors<Step::lanes>::Floats;
  constexpr int steps = is_small ? Step::small_steps : 1;
  Results results[num_tokens] = {};
  const std::uint8_t* q = panel.q + part.row * 4;
  const std::int8_t* e = x.e + part.token * 4;
  for (int g = 0; g < inputs.num_groups; ++g) {
    Sums dots[num_tokens] = {};
    for (int k = 0; k < inputs.num_quads; k += steps) {
      Sums shorts[num_tokens] = {};
#pragma GCC unroll 2
      for (int i = 0; i < steps; ++i) {
#pragma GCC unroll 12
        for (int t = 0; t < num_tokens; ++t) {
          if constexpr (is_small) {
            Step::add_small_products_of_four(q, e + t * 4, &shorts[t]);
          } else {
            Step::add_products_of_four(q, e + t * 4, &dots[t]);
          }
        }
        q += panel_rows * 4;
        e += x.num_tokens * 4;
      }
      if constexpr (is_small) {
#pragma GCC unroll 12
        for (int t = 0; t < num_tokens; ++t) Step::add_shorts(&shorts[t], &dots[t]);
      }
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

/// Multiply a part of a tile: all outputs of some tokens, of `most` at the most. There is
/// a loop for each number of them.
template <class Step, bool is_small, int most>
TINY_LLM_INLINE inline void multiply_tokens(
    const Panel& panel, const Tokens& x, const Outputs& y, Inputs inputs, int token,
    int num_tokens) {
  if (num_tokens == most) {
    for (int row = 0; row < y.num_rows; row += Step::lanes) {
      multiply_part<Step, is_small, most>(panel, x, y, inputs, {row, token});
    }
  } else if constexpr (most > 1) {
    multiply_tokens<Step, is_small, most - 1>(panel, x, y, inputs, token, num_tokens);
  }
}

/// Multiply a tile in parts that are as equal as can be.
template <class Step, bool is_small>
TINY_LLM_INLINE inline void multiply_parts(
    const Panel& panel, const Tokens& x, const Outputs& y, Inputs inputs) {
  constexpr int most = Step::tokens_at_once;
  const int num_parts = (x.num_tokens - 1) / most + 1;
  for (int part = 0; part < num_parts; ++part) {
    const int first = x.num_tokens * part / num_parts;
    const int last = x.num_tokens * (part + 1) / num_parts;
    multiply_tokens<Step, is_small, most>(panel, x, y, inputs, first, last - first);
  }
}

#if defined(__x86_64__)
TINY_LLM_AVX2 inline void multiply_tile_avx2(
    const Panel& panel, const Tokens& x, const Outputs& y, Inputs inputs) {
  if (inputs.bits <= 4) {
    multiply_parts<Avx2Step, true>(panel, x, y, inputs);
  } else {
    multiply_parts<Avx2Step, false>(panel, x, y, inputs);
  }
}

TINY_LLM_AVX_VNNI inline void multiply_tile_avx_vnni(
    const Panel& panel, const Tokens& x, const Outputs& y, Inputs inputs) {
  multiply_parts<AvxVnniStep, false>(panel, x, y, inputs);
}
#elif defined(__aarch64__)
inline void multiply_tile_neon(
    const Panel& panel, const Tokens& x, const Outputs& y, Inputs inputs) {
  multiply_parts<NeonStep, false>(panel, x, y, inputs);
}
#endif

#if defined(__aarch64__) && defined(TINY_LLM_NEON_DOTPROD)
TINY_LLM_NEON_DOTPROD inline void multiply_tile_neon_dotprod(
    const Panel& panel, const Tokens& x, const Outputs& y, Inputs inputs) {
  multiply_parts<NeonDotprodStep, false>(panel, x, y, inputs);
}
#endif

/// Find what multiplies a tile of 1 to 12 tokens.
inline MultiplyTile multiply_tile([[maybe_unused]] int num_tokens) {
  switch (instructions()) {
#if defined(__x86_64__)
    case Instructions::avx512_vnni:
      return tiles_avx512[static_cast<std::size_t>(num_tokens - 1)];
    case Instructions::avx_vnni: return multiply_tile_avx_vnni;
    case Instructions::avx2: return multiply_tile_avx2;
#elif defined(__aarch64__) && defined(TINY_LLM_NEON_DOTPROD)
    case Instructions::neon_dotprod: return multiply_tile_neon_dotprod;
    case Instructions::neon: return multiply_tile_neon;
#elif defined(__aarch64__)
    case Instructions::neon: return multiply_tile_neon;
#endif
    default: return multiply_tile_portable;
  }
}

}  // namespace detail

}  // namespace tiny_llm
