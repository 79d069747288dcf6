/// Small matrices of floats that fit into a cache: products, maxima, exponentials.
///
/// What attention does is made of these. A matrix is row-major, and its rows may lie
/// apart. The functions at the end work in the widest vectors that the processor has;
/// `tiles` holds what they are made of.
#pragma once

#include <algorithm>
#include <cstddef>

#include "kernels/exponential.h"
#include "kernels/wide.h"

namespace tiny_llm {

/// A matrix that is only read: row i begins at data + i * stride.
struct ConstTile {
  const float* data;
  std::ptrdiff_t stride;
  /// How many floats further on the next matrix lies, if one is needed soon: a product
  /// then asks for it, bit by bit, so that it comes from memory in the meantime.
  std::ptrdiff_t ahead = 0;
};

/// A matrix that is written, likewise.
struct Tile {
  float* data;
  std::ptrdiff_t stride;
};

namespace tiles {

/// A line of a cache has 64 bytes.
inline constexpr int floats_of_line = 16;

/// A factor of a product: as it lies in memory, or the transpose of that.
template <bool is_transposed>
struct Factor {
  const float* data;
  std::ptrdiff_t stride;
  std::ptrdiff_t ahead;

  /// The matrix from row i on.
  Factor from_row(int i) const {
    return {is_transposed ? data + i : data + i * stride, stride, ahead};
  }
  float at(int i, int k) const {
    return is_transposed ? data[i + k * stride] : data[i * stride + k];
  }
};

/// How many registers hold sums: half of them. The others hold a row and its factor. As
/// many sums hide how long an addition takes, and these powers of two cut the tiles of
/// attention, 64 keys and 32 queries, without a rest.
template <class Registers>
inline constexpr int sums_at_once = Registers::count / 2;
/// How many vectors of a row are added up at once, where a row is long enough.
template <class Registers>
inline constexpr int vectors_at_once = Registers::count == 32 ? 4 : 2;

/// Ask for a cache line, to lie in the second cache: the first one holds this matrix.
TINY_LLM_INLINE inline void prefetch(const float* line) {
  __builtin_prefetch(line, 0, 2);
}

/// c += a b for rows rows and vectors * lanes columns of c, which stay in registers.
template <int rows, int vectors, int lanes, bool is_transposed>
TINY_LLM_INLINE inline void multiply_block(
    Factor<is_transposed> a, ConstTile b, Tile c, int depth) {
  using Floats = typename Vectors<lanes>::Floats;
  Floats sums[rows][vectors];
#pragma GCC unroll 8
  for (int i = 0; i < rows; ++i) {
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) {
      load(c.data + i * c.stride + v * lanes, sums[i][v]);
    }
  }
  for (int k = 0; k < depth; ++k) {
    // The next a, or the next b if a is a transpose: the other one stays in the cache.
    if constexpr (is_transposed) {
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) {
        prefetch(b.data + k * b.stride + v * lanes + b.ahead);
      }
    } else if (k % floats_of_line == 0) {
#pragma GCC unroll 8
      for (int i = 0; i < rows; ++i) prefetch(&a.data[i * a.stride + k] + a.ahead);
    }
    Floats row[vectors];
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) {
      load(b.data + k * b.stride + v * lanes, row[v]);
    }
#pragma GCC unroll 8
    for (int i = 0; i < rows; ++i) {
      const float factor = a.at(i, k);
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) sums[i][v] += factor * row[v];
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < rows; ++i) {
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) {
      store(sums[i][v], c.data + i * c.stride + v * lanes);
    }
  }
}

/// Take rows rows at a time, and those that are left in smaller blocks.
template <int rows, int vectors, int lanes, bool is_transposed>
TINY_LLM_INLINE inline void multiply_columns(
    Factor<is_transposed> a, ConstTile b, Tile c, int num_rows, int depth) {
  int i = 0;
  for (; i + rows <= num_rows; i += rows) {
    multiply_block<rows, vectors, lanes>(
        a.from_row(i), b, {c.data + i * c.stride, c.stride}, depth);
  }
  if constexpr (rows > 1) {
    multiply_columns<rows / 2, vectors, lanes>(
        a.from_row(i), b, {c.data + i * c.stride, c.stride}, num_rows - i, depth);
  }
}

/// Take wide blocks of columns first, and narrower ones for what is left.
template <int sums, int vectors, int lanes, bool is_transposed>
TINY_LLM_INLINE inline void multiply_add(
    Factor<is_transposed> a,
    ConstTile b,
    Tile c,
    int num_rows,
    int num_columns,
    int depth) {
  constexpr int columns = vectors * lanes;
  // With one vector in a row every sum loads a factor of its own: eight sums do.
  constexpr int rows = std::min(sums / vectors, 8);
  int j = 0;
  for (; j + columns <= num_columns; j += columns) {
    multiply_columns<rows, vectors, lanes>(
        a, {b.data + j, b.stride, b.ahead}, {c.data + j, c.stride}, num_rows, depth);
  }
  if constexpr (columns > 1) {
    constexpr bool is_narrow = vectors == 1;
    multiply_add<sums, is_narrow ? 1 : vectors / 2, is_narrow ? lanes / 2 : lanes>(
        a, {b.data + j, b.stride, b.ahead}, {c.data + j, c.stride}, num_rows,
        num_columns - j, depth);
  }
}

template <int lanes>
TINY_LLM_INLINE inline void maxima(
    ConstTile x, int num_rows, int num_columns, float* tops) {
  using Floats = typename Vectors<lanes>::Floats;
  int j = 0;
  for (; j + lanes <= num_columns; j += lanes) {
    Floats own, row;
    load(tops + j, own);
    for (int i = 0; i < num_rows; ++i) {
      load(x.data + i * x.stride + j, row);
      own = row > own ? row : own;
    }
    store(own, tops + j);
  }
  if constexpr (lanes > 1) {
    maxima<lanes / 2>({x.data + j, x.stride}, num_rows, num_columns - j, tops + j);
  }
}

template <int lanes>
TINY_LLM_INLINE inline void exponentials(
    Tile x, int num_rows, int num_columns, const float* shifts, float* totals) {
  using Floats = typename Vectors<lanes>::Floats;
  int j = 0;
  for (; j + lanes <= num_columns; j += lanes) {
    Floats own, weights, sums{};
    load(shifts + j, own);
    for (int i = 0; i < num_rows; ++i) {
      float* row = x.data + i * x.stride + j;
      load(row, weights);
      weights -= own;
      exponentiate<Floats, typename Vectors<lanes>::Words>(weights);
      store(weights, row);
      sums += weights;
    }
    for (int lane = 0; lane < lanes; ++lane) totals[j + lane] += sums[lane];
  }
  if constexpr (lanes > 1) {
    exponentials<lanes / 2>(
        {x.data + j, x.stride}, num_rows, num_columns - j, shifts + j, totals + j);
  }
}

template <bool is_transposed>
void multiply_add(
    Factor<is_transposed> a,
    ConstTile b,
    Tile c,
    int num_rows,
    int num_columns,
    int depth) {
  in_best_registers([=](auto registers) TINY_LLM_INLINE {
    using Own = decltype(registers);
    multiply_add<sums_at_once<Own>, vectors_at_once<Own>, Own::lanes>(
        a, b, c, num_rows, num_columns, depth);
  });
}

}  // namespace tiles

/// Add a product to c: c += a b.
///
/// a: num_rows x depth, b: depth x num_columns, c: num_rows x num_columns.
inline void multiply_add(
    ConstTile a, ConstTile b, Tile c, int num_rows, int num_columns, int depth) {
  const tiles::Factor<false> factor{a.data, a.stride, a.ahead};
  tiles::multiply_add(factor, b, c, num_rows, num_columns, depth);
}

/// Add a product with a transpose to c: c += a^T b.
///
/// a: depth x num_rows, b: depth x num_columns, c: num_rows x num_columns.
inline void multiply_add_transposed(
    ConstTile a, ConstTile b, Tile c, int num_rows, int num_columns, int depth) {
  const tiles::Factor<true> factor{a.data, a.stride, a.ahead};
  tiles::multiply_add(factor, b, c, num_rows, num_columns, depth);
}

/// Raise each of `tops` to the largest number of its column of x.
///
/// x: num_rows x num_columns, tops: num_columns.
inline void maxima(ConstTile x, int num_rows, int num_columns, float* tops) {
  in_best_registers([=](auto registers) TINY_LLM_INLINE {
    tiles::maxima<decltype(registers)::lanes>(x, num_rows, num_columns, tops);
  });
}

/// Replace x by e^(x - shift of its column), and add the sums of columns to `totals`.
///
/// x: num_rows x num_columns, shifts and totals: num_columns.
inline void exponentials(
    Tile x, int num_rows, int num_columns, const float* shifts, float* totals) {
  in_best_registers([=](auto registers) TINY_LLM_INLINE {
    tiles::exponentials<decltype(registers)::lanes>(
        x, num_rows, num_columns, shifts, totals);
  });
}

}  // namespace tiny_llm
