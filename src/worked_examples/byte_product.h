/// A matrix of bytes times many vectors: a ladder of six rungs, for Week 2, Day 5.
///
///     y[t, o] = scales[o] * sum over i of (q[o, i] - 128) * x[t, i]
///
/// It is a neighbour of the day's tasks, and no part of their solution: the matrix is
/// that of byte_matrix.h, with one scale for each row. x: L x I, y: L x O, contiguous.
/// O is a multiple of 16, and L one of the tokens of a tile: no edges.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "kernels/instructions.h"
#include "kernels/threads.h"
#include "kernels/wide.h"
#include "worked_examples/byte_matrix.h"

namespace worked {

constexpr int panel_rows = 16;
constexpr int tile_tokens = 12;  // of a tile of bytes

/// Rung 1, the control: the product of Day 4 for each token.
inline void product_plain(
    const float* x, const ByteMatrix& w, float* y, int num_tokens) {
  for (int t = 0; t < num_tokens; ++t) {
    const float* token = x + std::ptrdiff_t{t} * w.num_columns;
    for (int o = 0; o < w.num_rows; ++o) {
      const std::uint8_t* q = w.row(o);
      float sum = 0;
      for (int i = 0; i < w.num_columns; ++i) {
        sum += static_cast<float>(q[i] - zero) * token[i];
      }
      y[std::ptrdiff_t{t} * w.num_rows + o] = w.scales[o] * sum;
    }
  }
}

/// Rung 2: each row is unpacked into floats once, and used for all tokens.
inline void product_unpacked_once(
    const float* x, const ByteMatrix& w, float* y, int num_tokens) {
  std::vector<float> row(static_cast<std::size_t>(w.num_columns));
  for (int o = 0; o < w.num_rows; ++o) {
    const std::uint8_t* q = w.row(o);
    std::transform(q, q + w.num_columns, row.begin(), [](std::uint8_t one) {
      return static_cast<float>(one - zero);
    });
    const float* weights = row.data();
    for (int t = 0; t < num_tokens; ++t) {
      const float* token = x + std::ptrdiff_t{t} * w.num_columns;
      float sum = 0;
      for (int i = 0; i < w.num_columns; ++i) sum += weights[i] * token[i];
      y[std::ptrdiff_t{t} * w.num_rows + o] = w.scales[o] * sum;
    }
  }
}

/// Unpack some rows into panels of floats: the 16 weights of a column side by side.
inline void unpack_panels(const ByteMatrix& w, Rows rows, float* panels) {
  for (int o = rows.first; o < rows.last; o += panel_rows) {
    for (int i = 0; i < w.num_columns; ++i) {
      for (int r = 0; r < panel_rows; ++r) {
        *panels++ = static_cast<float>(w.row(o + r)[i] - zero);
      }
    }
  }
}

/// Rung 3, a first try: 16 outputs of a token side by side, in plain loops.
inline void panel_in_loops(
    const float* x, const float* panel, int num_columns, float* sums) {
  float own[panel_rows] = {};
  for (int i = 0; i < num_columns; ++i) {
    for (int lane = 0; lane < panel_rows; ++lane) {
      own[lane] += panel[i * panel_rows + lane] * x[i];
    }
  }
  std::memcpy(sums, own, sizeof(own));
}

/// Rung 3: the same in four registers of 16 bytes, which every processor has.
inline void panel_in_lanes(
    const float* x, const float* panel, int num_columns, float* sums) {
  using Floats __attribute__((vector_size(16))) = float;
  Floats own[4] = {};
  for (int i = 0; i < num_columns; ++i) {
#pragma GCC unroll 4
    for (int part = 0; part < 4; ++part) {
      Floats weights;
      std::memcpy(&weights, panel + i * panel_rows + part * 4, sizeof(weights));
      own[part] += weights * x[i];
    }
  }
  std::memcpy(sums, own, sizeof(own));
}

/// Multiplies the floats of a token, or of the tokens of a tile, by a panel.
using FloatTile = void (*)(const float*, const float*, int, float*);

/// Rung 3, around it: unpack so many rows, use them for all tokens, go on.
inline void product_in_panels(
    FloatTile tile, const float* x, const ByteMatrix& w, float* y, int num_tokens,
    int rows_together) {
  const auto columns = std::ptrdiff_t{w.num_columns};
  std::vector<float> panels(static_cast<std::size_t>(rows_together * columns));
  for (int first = 0; first < w.num_rows; first += rows_together) {
    const Rows rows{first, std::min(first + rows_together, w.num_rows)};
    unpack_panels(w, rows, panels.data());
    for (std::ptrdiff_t t = 0; t < num_tokens; ++t) {
      for (int o = rows.first; o < rows.last; o += panel_rows) {
        float* const to = y + t * w.num_rows + o;
        const float* panel = panels.data() + (o - first) * columns;
        tile(x + t * columns, panel, w.num_columns, to);
        for (int r = 0; r < panel_rows; ++r) to[r] *= w.scales[o + r];
      }
    }
  }
}

/// Rung 4: the sums of some tokens stay in registers, and a panel is loaded for all.
///
/// x: I x num_tokens, the tokens of a tile side by side. A register has `lanes` floats.
template <int lanes, int num_tokens>
TINY_LLM_INLINE inline void float_tile(
    const float* x, const float* panel, int num_columns, float* sums) {
  using Floats = typename tiny_llm::Vectors<lanes>::Floats;
  constexpr int parts = panel_rows / lanes;
  Floats own[num_tokens][parts] = {};
  for (int i = 0; i < num_columns; ++i) {
    Floats weights[parts];
#pragma GCC unroll 4
    for (int part = 0; part < parts; ++part) {
      tiny_llm::load(panel + i * panel_rows + part * lanes, weights[part]);
    }
#pragma GCC unroll 64
    for (int t = 0; t < num_tokens; ++t) {
#pragma GCC unroll 4
      for (int part = 0; part < parts; ++part) {
        own[t][part] += weights[part] * x[i * num_tokens + t];
      }
    }
  }
  std::memcpy(sums, own, sizeof(own));
}

/// Rung 4 for the registers that every processor of this kind has.
template <int num_tokens>
void float_tile_of(const float* x, const float* panel, int num_columns, float* sums) {
  float_tile<4, num_tokens>(x, panel, num_columns, sums);
}

#if defined(__x86_64__)
/// Rung 4 for registers of 32 bytes.
template <int num_tokens>
TINY_LLM_AVX2 void float_tile_avx2(
    const float* x, const float* panel, int num_columns, float* sums) {
  float_tile<8, num_tokens>(x, panel, num_columns, sums);
}

/// Rung 4 for registers of 64 bytes: a panel is as wide as one.
template <int num_tokens>
TINY_LLM_AVX512_VNNI void float_tile_avx512(
    const float* x, const float* panel, int num_columns, float* sums) {
  float_tile<16, num_tokens>(x, panel, num_columns, sums);
}
#endif

/// Pack some rows into panels of bytes: four columns of each of 16 rows side by side.
inline void pack_panels(const ByteMatrix& w, Rows rows, std::uint8_t* panels) {
  for (int o = rows.first; o < rows.last; o += panel_rows) {
    for (int i = 0; i < w.num_columns; i += 4) {
      for (int r = 0; r < panel_rows; ++r, panels += 4) {
        std::memcpy(panels, w.row(o + r) + i, 4);
      }
    }
  }
}

/// Rung 5, in plain C++: a tile of bytes, added up in integers.
///
/// x: I / 4 x 12 x 4, the tokens of a tile side by side. sums: 12 x 16.
inline void byte_tile(
    const std::int8_t* x, const std::uint8_t* panel, int num_columns,
    std::int32_t* sums) {
  std::int32_t own[tile_tokens * panel_rows] = {};
  for (int i = 0; i < num_columns; i += 4) {
    for (int t = 0; t < tile_tokens; ++t) {
      for (int r = 0; r < panel_rows; ++r) {
        std::int32_t dot = 0;
        for (int j = 0; j < 4; ++j) dot += panel[r * 4 + j] * x[t * 4 + j];
        own[t * panel_rows + r] += dot;
      }
    }
    x += 4 * tile_tokens;
    panel += 4 * panel_rows;
  }
  std::memcpy(sums, own, sizeof(own));
}

#if defined(__x86_64__)
/// Rung 5, with the instruction that is made for it: 64 products at a time.
TINY_LLM_AVX512_VNNI inline void byte_tile_vnni(
    const std::int8_t* x, const std::uint8_t* panel, int num_columns,
    std::int32_t* sums) {
  __m512i own[tile_tokens] = {};
  for (int i = 0; i < num_columns; i += 4) {
    const __m512i weights = _mm512_loadu_si512(panel + i * panel_rows);
#pragma GCC unroll 12
    for (int t = 0; t < tile_tokens; ++t) {
      int four;
      std::memcpy(&four, x + i * tile_tokens + t * 4, 4);
      own[t] = _mm512_dpbusd_epi32(own[t], weights, _mm512_set1_epi32(four));
    }
  }
  std::memcpy(sums, own, sizeof(own));
}
#endif

/// Tokens in bytes, each with a scale and a sum of its own.
struct ByteTokens {
  std::vector<std::int8_t> p;  ///< L / 12 x I / 4 x 12 x 4
  std::vector<float> scales;   ///< L
  std::vector<int> sums;       ///< L
};

/// Write the outputs of a tile: 12 tokens from `token` on, 16 rows from `row` on.
///
///     sum over i of (q - 128) * p  =  sum of q * p  -  128 * sum of p
inline void write_outputs(
    const std::int32_t* dots, const ByteTokens& x, int token, const ByteMatrix& w,
    int row, float* y) {
  for (int t = token; t < token + tile_tokens; ++t) {
    const auto at = static_cast<std::size_t>(t);
    for (int r = row; r < row + panel_rows; ++r) {
      const auto sum = static_cast<float>(*dots++ - zero * x.sums[at]);
      y[std::ptrdiff_t{t} * w.num_rows + r] = w.scales[r] * x.scales[at] * sum;
    }
  }
}

using ByteTile = void (*)(const std::int8_t*, const std::uint8_t*, int, std::int32_t*);

/// Rung 5, around it: pack some rows, and multiply all tokens by them, tile by tile.
///
/// Rung 6 gives each thread some rows, with `rows_on_all_cores`: the panels of a piece
/// are its own.
inline void rows_in_byte_tiles(
    ByteTile tile, const ByteTokens& x, const ByteMatrix& w, float* y, Rows rows) {
  const auto columns = std::ptrdiff_t{w.num_columns};
  const auto num_tokens = static_cast<int>(x.scales.size());
  std::vector<std::uint8_t> panels(
      static_cast<std::size_t>((rows.last - rows.first) * columns));
  pack_panels(w, rows, panels.data());
  for (int token = 0; token < num_tokens; token += tile_tokens) {
    for (int o = rows.first; o < rows.last; o += panel_rows) {
      std::int32_t dots[tile_tokens * panel_rows];
      const std::uint8_t* panel = panels.data() + (o - rows.first) * columns;
      tile(x.p.data() + token * columns, panel, w.num_columns, dots);
      write_outputs(dots, x, token, w, o, y);
    }
  }
}

}  // namespace worked
