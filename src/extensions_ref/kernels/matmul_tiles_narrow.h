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
      for (int t = 0; t < num_tokens; ++t) {
        Step::add_products_of_four(q, e + t * 4, &dots[t]);
      }
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
TINY_LLM_AVX2 inline void multiply_tile_avx2(
    const Panel& panel, const Tokens& x, const Outputs& y, Inputs inputs) {
  multiply_parts<Avx2Step, Avx2Step::tokens_at_once>(panel, x, y, inputs, 0);
}

TINY_LLM_AVX_VNNI inline void multiply_tile_avx_vnni(
    const Panel& panel, const Tokens& x, const Outputs& y, Inputs inputs) {
  multiply_parts<AvxVnniStep, AvxVnniStep::tokens_at_once>(panel, x, y, inputs, 0);
}
#elif defined(__aarch64__)
inline void multiply_tile_neon(
    const Panel& panel, const Tokens& x, const Outputs& y, Inputs inputs) {
  multiply_parts<NeonStep, NeonStep::tokens_at_once>(panel, x, y, inputs, 0);
}
#endif

#if defined(__aarch64__) && defined(TINY_LLM_NEON_DOTPROD)
TINY_LLM_NEON_DOTPROD inline void multiply_tile_neon_dotprod(
    const Panel& panel, const Tokens& x, const Outputs& y, Inputs inputs) {
  multiply_parts<NeonDotprodStep, NeonDotprodStep::tokens_at_once>(
      panel, x, y, inputs, 0);
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
