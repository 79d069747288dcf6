/// A tile of a product: up to 12 tokens times a panel, all of it in registers.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#if defined(__x86_64__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#include <immintrin.h>
#pragma GCC diagnostic pop
#endif

#include "kernels/instructions.h"
#include "kernels/int8.h"
#include "kernels/panel.h"
#include "kernels/square.h"
#include "kernels/wide.h"

namespace tiny_llm {

namespace detail {

/// The most tokens of a tile: each takes a register for the dot products of a group and
/// one for the result, and of 32 registers some are left for the panel.
inline constexpr int tile_tokens = 12;

/// The activations of up to 12 tokens, side by side as a tile reads them.
struct Tokens {
  std::int8_t* e;  ///< I / 4 x num_tokens x 4
  float* scales;   ///< I / group_size x num_tokens
  float* sums;     ///< I / group_size x num_tokens
  int num_tokens;
};

/// Where a tile puts its result: the first 16 outputs of each token, or fewer.
struct Outputs {
  float* first;
  std::ptrdiff_t stride;  ///< from a token to the next
  int num_rows;
};

/// How many groups of inputs there are, how many times four inputs in each, and how many
/// bits the weights have.
struct Inputs {
  int num_groups;
  int num_quads;
  int bits;
};

using MultiplyTile = void (*)(const Panel&, const Tokens&, const Outputs&, Inputs);

inline void multiply_tile_portable(
    const Panel& panel, const Tokens& x, const Outputs& y, Inputs inputs) {
  for (int t = 0; t < x.num_tokens; ++t) {
    float results[panel_rows] = {};
    for (int g = 0; g < inputs.num_groups; ++g) {
      std::int32_t dots[panel_rows] = {};
      for (int k = g * inputs.num_quads; k < (g + 1) * inputs.num_quads; ++k) {
        const std::uint8_t* const q = panel.q + k * panel_rows * 4;
        const std::int8_t* const e = x.e + (k * x.num_tokens + t) * 4;
        for (int r = 0; r < panel_rows; ++r) {
          for (int i = 0; i < 4; ++i) dots[r] += q[r * 4 + i] * e[i];
        }
      }
      const float scale = x.scales[g * x.num_tokens + t];
      const float sum = x.sums[g * x.num_tokens + t];
      for (int r = 0; r < panel_rows; ++r) {
        const int at = g * panel_rows + r;
        results[r] += panel.biases[at] * sum;
        results[r] += panel.scales[at] * static_cast<float>(dots[r]) * scale;
      }
    }
    std::copy_n(results, y.num_rows, y.first + t * y.stride);
  }
}

#if defined(__x86_64__)
/// Add the products of 64 weights and activations, in fours, to 16 sums.
///
/// What `_mm512_dpbusd_epi32` says, but in place: in a loop over many sums GCC 12 copies
/// each of them to another register and back, and 256 tokens take a third longer.
TINY_LLM_AVX512_VNNI inline void add_products(
    __m512i& sums, __m512i weights, __m512i activations) {
  asm("vpdpbusd %2, %1, %0" : "+v"(sums) : "v"(weights), "v"(activations));
}

/// One instruction multiplies 64 bytes of the panel by four activations of a token, and
/// adds the products in fours to 16 dot products. Each of the 12 tokens has a register
/// of them, so an addition need not wait for the one before it.
template <int num_tokens>
TINY_LLM_AVX512_VNNI void multiply_tile_avx512(
    const Panel& panel, const Tokens& x, const Outputs& y, Inputs inputs) {
  __m512 results[num_tokens];
#pragma GCC unroll 12
  for (int t = 0; t < num_tokens; ++t) results[t] = _mm512_setzero_ps();
  const std::uint8_t* q = panel.q;
  const std::int8_t* e = x.e;
  for (int g = 0; g < inputs.num_groups; ++g) {
    __m512i dots[num_tokens];
#pragma GCC unroll 12
    for (int t = 0; t < num_tokens; ++t) dots[t] = _mm512_setzero_si512();
    for (int k = 0; k < inputs.num_quads; ++k) {
      const __m512i weights = _mm512_load_si512(q);
#pragma GCC unroll 12
      for (int t = 0; t < num_tokens; ++t) {
        int four;
        std::memcpy(&four, e + t * 4, 4);
        add_products(dots[t], weights, _mm512_set1_epi32(four));
      }
      q += panel_rows * 4;
      e += num_tokens * 4;
    }
    const __m512 scales = _mm512_load_ps(panel.scales + g * panel_rows);
    const __m512 biases = _mm512_load_ps(panel.biases + g * panel_rows);
#pragma GCC unroll 12
    for (int t = 0; t < num_tokens; ++t) {
      const __m512 sum = _mm512_set1_ps(x.sums[g * num_tokens + t]);
      const __m512 scale = _mm512_set1_ps(x.scales[g * num_tokens + t]);
      const __m512 scaled = _mm512_mul_ps(_mm512_cvtepi32_ps(dots[t]), scales);
      results[t] = _mm512_fmadd_ps(biases, sum, results[t]);
      results[t] = _mm512_fmadd_ps(scaled, scale, results[t]);
    }
  }
  const auto rows = static_cast<__mmask16>((1u << y.num_rows) - 1u);
#pragma GCC unroll 12
  for (int t = 0; t < num_tokens; ++t) {
    _mm512_mask_storeu_ps(y.first + t * y.stride, rows, results[t]);
  }
}
#endif

/// What multiplies a tile of 1 to 12 tokens. The compiler has to know how many registers
/// there are, so there is a function for each number.
using MultiplyTiles = std::array<MultiplyTile, tile_tokens>;

#if defined(__x86_64__)
inline constexpr MultiplyTiles tiles_avx512 =
    []<int... t>(std::integer_sequence<int, t...>) {
      return MultiplyTiles{multiply_tile_avx512<t + 1>...};
    }(std::make_integer_sequence<int, tile_tokens>{});
#endif

/// Put the tokens of a tile, n x I, side by side: I / 4 x n x 4. Squares of four words of
/// four tokens are transposed; if n is no multiple of four, some are put there twice.
inline void interleave(
    const std::int8_t* q, std::ptrdiff_t num_columns, const Tokens& tile) {
  const std::ptrdiff_t n = tile.num_tokens;
  if (n < 4) {
    for (std::ptrdiff_t t = 0; t < n; ++t) {
      for (std::ptrdiff_t i = 0; i < num_columns; i += 4) {
        std::memcpy(tile.e + i * n + t * 4, q + t * num_columns + i, 4);
      }
    }
    return;
  }
  for (std::ptrdiff_t i = 0; i < num_columns; i += 16) {
    for (std::ptrdiff_t t = 0; t < n; t += 4) {
      const std::ptrdiff_t first = std::min(t, n - 4);
      squares::Four square[4];
      for (int j = 0; j < 4; ++j) load(q + (first + j) * num_columns + i, square[j]);
      squares::transpose(square);
      for (int j = 0; j < 4; ++j) store(square[j], tile.e + (i + 4 * j) * n + first * 4);
    }
  }
}

}  // namespace detail

}  // namespace tiny_llm
