/// A quantised matrix times many vectors, in integers: packing, tiles, threads.
///
///     y[t, o] = sum over g of   scales[o, g] * scale[t, g] * dot[t, o, g]
///                             + biases[o, g] * sum[t, g]
///
/// Here x[t, i] ~ scale[t, g] * e[t, i], where e is what int8.h calls q, sum[t, g] is
/// scale[t, g] times the sum of e over the group, and dot[t, o, g] the sum of
/// q[o, i] * e[t, i] over it: of integers, so exact.
///
/// x: L x I, w: O x I (see quantized_matrix.h), y: L x O, where L is `num_tokens`. All
/// are contiguous, and y overlaps neither of the others. x must be finite.
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

#include "kernels/buffer.h"
#include "kernels/instructions.h"
#include "kernels/int8.h"
#include "kernels/numbers.h"
#include "kernels/quantized_matrix.h"
#include "kernels/threads.h"

namespace tiny_llm {

/// How many rows of the matrix make a panel: the 32-bit lanes of a 512-bit register.
constexpr int panel_rows = 16;

/// Some rows of a matrix, in the order in which a tile reads them. It owns no memory.
///
/// Four inputs of one output stand together, then those of the next. So 64 bytes are
/// four inputs of 16 outputs, which one instruction multiplies by four activations.
struct Panel {
  std::uint8_t* q;  ///< I / 4 x 16 x 4: inputs, outputs, inputs
  float* scales;    ///< I / group_size x 16
  float* biases;    ///< I / group_size x 16
};

namespace detail {

/// The row of the matrix that is a row of a panel. Behind the last row comes itself.
template <class Scale>
int row_of_panel(const QuantizedMatrix<Scale>& w, int first_row, int r) {
  return std::min(first_row + r, w.num_rows - 1);
}

/// How many inputs are a block of int8.h.
template <class Scale>
int block_size(const QuantizedMatrix<Scale>& w) {
  return std::min(w.group_size, 64);
}

template <class Scale>
void pack_portable(const QuantizedMatrix<Scale>& w, int first_row, std::uint8_t* q) {
  const int per_byte = 8 / w.bits;
  const int plane = block_size(w) / per_byte;
  for (int place = 0; place < w.num_columns; ++place) {
    const int first = place / block_size(w) * block_size(w);
    const int column = first + place % plane * per_byte + (place - first) / plane;
    for (int r = 0; r < panel_rows; ++r) {
      q[(place / 4 * panel_rows + r) * 4 + place % 4] =
          static_cast<std::uint8_t>(w.q(row_of_panel(w, first_row, r), column));
    }
  }
}

#if defined(__x86_64__)
/// Load 16 bytes from each of the rows 0, 4, 8 and 12.
TINY_LLM_AVX512_VNNI inline __m512i load_four(
    const std::byte* const* rows, int offset) {
  __m128i parts[4];
  for (int r = 0; r < 4; ++r) std::memcpy(&parts[r], rows[r * 4] + offset, 16);
  __m512i four = _mm512_castsi128_si512(parts[0]);
  four = _mm512_inserti32x4(four, parts[1], 1);
  four = _mm512_inserti32x4(four, parts[2], 2);
  return _mm512_inserti32x4(four, parts[3], 3);
}

/// Turn 16 bytes of 16 rows into 4 registers, each with 4 bytes of every row.
///
/// Each quarter of a register is a square of 4 x 4 words, transposed in two rounds.
TINY_LLM_AVX512_VNNI inline void transpose(
    const std::byte* const* rows, int offset, __m512i (&columns)[4]) {
  const __m512i a = load_four(rows, offset);
  const __m512i b = load_four(rows + 1, offset);
  const __m512i c = load_four(rows + 2, offset);
  const __m512i d = load_four(rows + 3, offset);
  const __m512i ab = _mm512_unpacklo_epi32(a, b);
  const __m512i cd = _mm512_unpacklo_epi32(c, d);
  const __m512i ab_high = _mm512_unpackhi_epi32(a, b);
  const __m512i cd_high = _mm512_unpackhi_epi32(c, d);
  columns[0] = _mm512_unpacklo_epi64(ab, cd);
  columns[1] = _mm512_unpackhi_epi64(ab, cd);
  columns[2] = _mm512_unpacklo_epi64(ab_high, cd_high);
  columns[3] = _mm512_unpackhi_epi64(ab_high, cd_high);
}

/// Bytes are transposed as they are stored, and their parts taken out afterwards.
template <class Scale>
TINY_LLM_AVX512_VNNI void pack_avx512(
    const QuantizedMatrix<Scale>& w, int first_row, std::uint8_t* q) {
  const std::byte* rows[panel_rows];
  for (int r = 0; r < panel_rows; ++r) {
    rows[r] = reinterpret_cast<const std::byte*>(w.row(row_of_panel(w, first_row, r)));
  }
  const int per_byte = 8 / w.bits;
  const int plane = block_size(w) / per_byte;
  const __m512i mask = _mm512_set1_epi8(static_cast<char>((1 << w.bits) - 1));
  int done = 0;  // bytes of the block
  for (int offset = 0; offset < w.num_columns / per_byte; offset += 16) {
    __m512i columns[4];
    transpose(rows, offset, columns);
    for (int c = 0; c < 4; ++c) {
      for (int part = 0; part < per_byte; ++part) {
        const __m128i shift = _mm_cvtsi32_si128(part * w.bits);
        const __m512i parts = _mm512_srl_epi16(columns[c], shift);
        _mm512_storeu_si512(
            q + part * plane * panel_rows, _mm512_and_si512(parts, mask));
      }
      q += 4 * panel_rows;
      done += 4;
      if (done < plane) continue;
      q += (per_byte - 1) * plane * panel_rows;
      done = 0;
    }
  }
}
#endif

}  // namespace detail

/// Lay out the 16 rows from `first_row` on as a panel.
///
///     panel.q[(k * 16 + r) * 4 + j] = q[first_row + r, the column at place 4 * k + j]
///     panel.scales[g * 16 + r] = scales[first_row + r, g],   likewise the biases
///
/// Columns come in the order of int8.h: block by block, and with 4 bits the even
/// columns of a block before its odd ones. If the matrix ends before the panel does,
/// anything may stand in the rows that it lacks.
template <class Scale>
void pack_panel(const QuantizedMatrix<Scale>& w, int first_row, const Panel& panel) {
#if defined(__x86_64__)
  const bool is_wide = instructions() == Instructions::avx512_vnni;
  if (is_wide) detail::pack_avx512(w, first_row, panel.q);
#else
  constexpr bool is_wide = false;
#endif
  if (!is_wide) detail::pack_portable(w, first_row, panel.q);
  for (int r = 0; r < panel_rows; ++r) {
    const int row = detail::row_of_panel(w, first_row, r);
    for (int g = 0; g < w.groups(); ++g) {
      panel.scales[g * panel_rows + r] = to_float(w.row_scales(row)[g]);
      panel.biases[g * panel_rows + r] = to_float(w.row_biases(row)[g]);
    }
  }
}

namespace detail {

/// The most tokens of a tile: each takes a register for the dot products of a group and
/// one for the result, and of 32 registers some are left for the panel.
constexpr int tile_tokens = 12;

/// The activations of up to 12 tokens, in the order in which a tile reads them.
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

/// How many groups of inputs there are, and how many times four inputs in each.
struct Inputs {
  int num_groups;
  int num_quads;
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
#pragma GCC unroll 8
    for (int k = 0; k < inputs.num_quads; ++k) {
      const __m512i weights = _mm512_load_si512(q);
#pragma GCC unroll 12
      for (int t = 0; t < num_tokens; ++t) {
        int four;
        std::memcpy(&four, e + t * 4, 4);
        dots[t] = _mm512_dpbusd_epi32(dots[t], weights, _mm512_set1_epi32(four));
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

/// Find what multiplies a tile of 1 to 12 tokens. The compiler has to know how many
/// registers there are, so there is a function for each number.
inline MultiplyTile multiply_tile([[maybe_unused]] int num_tokens) {
#if defined(__x86_64__)
  static constexpr auto of = []<int... t>(std::integer_sequence<int, t...>) {
    return std::array<MultiplyTile, sizeof...(t)>{multiply_tile_avx512<t + 1>...};
  }(std::make_integer_sequence<int, tile_tokens>{});
  if (instructions() == Instructions::avx512_vnni) {
    return of[static_cast<std::size_t>(num_tokens - 1)];
  }
#endif
  return multiply_tile_portable;
}

/// Put a token, number t of a tile, beside the others of the tile.
inline void interleave(const Int8Activations& token, const Tokens& tile, int t) {
  const std::ptrdiff_t n = tile.num_tokens;
  for (std::ptrdiff_t g = 0; g < token.groups(); ++g) {
    tile.scales[g * n + t] = token.scales[g];
    tile.sums[g * n + t] = token.sums[g];
  }
  for (std::ptrdiff_t i = 0; i < token.num_columns; i += 4) {
    std::memcpy(tile.e + i * n + t * 4, token.q + i, 4);
  }
}

/// How many panels are packed together and used for a tile before the next: with more,
/// x is read from the first cache more often, and longer pieces of y are written. Four
/// of 4864 inputs, 304 KB, stay in a second cache of 1 MB.
constexpr int panels_together = 4;
constexpr int rows_together = panels_together * panel_rows;

/// The activations of a product, in tiles, and where each tile begins.
class Tiles {
 public:
  template <class Scale>
  Tiles(const QuantizedMatrix<Scale>& w, int num_tokens)
      : num_tokens_(num_tokens),
        num_columns_(w.num_columns),
        num_groups_(w.groups()),
        e_(num_tokens * num_columns_),
        scales_(num_tokens * num_groups_),
        sums_(num_tokens * num_groups_) {}

  int size() const { return (num_tokens_ + tile_tokens - 1) / tile_tokens; }

  /// The first token of a tile. Tiles are as equal as can be.
  int first(int tile) const { return num_tokens_ * tile / size(); }

  Tokens operator[](int tile) const {
    const std::ptrdiff_t begin = first(tile);
    return {
        e_.data() + begin * num_columns_,
        scales_.data() + begin * num_groups_,
        sums_.data() + begin * num_groups_,
        first(tile + 1) - first(tile)};
  }

 private:
  int num_tokens_;
  std::ptrdiff_t num_columns_;
  std::ptrdiff_t num_groups_;
  Buffer<std::int8_t> e_;
  Buffer<float> scales_;
  Buffer<float> sums_;
};

/// Round the tokens of a tile.
template <class Scale>
void fill_tile(
    const float* x, const QuantizedMatrix<Scale>& w, const Tiles& tiles, int tile) {
  const Tokens tokens = tiles[tile];
  const Buffer<std::int8_t> q(w.num_columns);
  const Buffer<float> scales(w.groups());
  const Buffer<float> sums(w.groups());
  const Int8Activations one{
      q.data(), scales.data(), sums.data(), w.num_columns, w.group_size, w.bits};
  for (int t = 0; t < tokens.num_tokens; ++t) {
    quantize_activations(x + std::ptrdiff_t{tiles.first(tile) + t} * w.num_columns, one);
    interleave(one, tokens, t);
  }
}

/// Compute 64 outputs of every token, or as many as there are from `first_row` on.
template <class Scale>
void multiply_panels(
    const Tiles& tiles, const QuantizedMatrix<Scale>& w, float* y, int first_row) {
  const std::ptrdiff_t q_size = w.num_columns * panel_rows;
  const std::ptrdiff_t scales_size = w.groups() * panel_rows;
  const Buffer<std::uint8_t> q(panels_together * q_size);
  const Buffer<float> scales(panels_together * scales_size);
  const Buffer<float> biases(panels_together * scales_size);
  const int num_rows = std::min(rows_together, w.num_rows - first_row);
  const auto panel = [&](int row) -> Panel {
    const std::ptrdiff_t p = row / panel_rows;
    return {
        q.data() + p * q_size, scales.data() + p * scales_size,
        biases.data() + p * scales_size};
  };
  for (int row = 0; row < num_rows; row += panel_rows) {
    pack_panel(w, first_row + row, panel(row));
  }
  for (int tile = 0; tile < tiles.size(); ++tile) {
    const Tokens tokens = tiles[tile];
    const MultiplyTile multiply = multiply_tile(tokens.num_tokens);
    float* const first = y + tiles.first(tile) * std::ptrdiff_t{w.num_rows} + first_row;
    for (int row = 0; row < num_rows; row += panel_rows) {
      const Outputs outputs{
          first + row, w.num_rows, std::min(panel_rows, num_rows - row)};
      multiply(panel(row), tokens, outputs, {w.groups(), w.group_size / 4});
    }
  }
}

}  // namespace detail

/// Tiles in registers, one after the other.
template <class Scale>
void matmul_int8(
    const float* x, const QuantizedMatrix<Scale>& w, float* y, int num_tokens) {
  if (num_tokens == 0) return;
  const detail::Tiles tiles(w, num_tokens);
  for (int tile = 0; tile < tiles.size(); ++tile) detail::fill_tile(x, w, tiles, tile);
  for (int row = 0; row < w.num_rows; row += detail::rows_together) {
    detail::multiply_panels(tiles, w, y, row);
  }
}

/// The same on all cores: they share first the tokens, then the panels.
template <class Scale>
void matmul_threaded(
    const float* x, const QuantizedMatrix<Scale>& w, float* y, int num_tokens) {
  if (num_tokens == 0) return;
  const detail::Tiles tiles(w, num_tokens);
  threads().run(
      tiles.size(), [&](int tile) { detail::fill_tile(x, w, tiles, tile); });
  const int pieces = (w.num_rows + detail::rows_together - 1) / detail::rows_together;
  threads().run(pieces, [&](int piece) {
    detail::multiply_panels(tiles, w, y, piece * detail::rows_together);
  });
}

}  // namespace tiny_llm
