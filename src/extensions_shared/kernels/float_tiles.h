/// Small matrices of floats that fit into a cache: products, maxima, exponentials.
///
/// What attention does is made of these. A matrix is row-major, and its rows may lie
/// apart. The functions at the end pick, at run time, the widest vectors that the
/// processor has; `tiles` holds what they pick from.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/exponential.h"
#include "kernels/instructions.h"

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
inline constexpr int kFloatsOfLine = 16;

/// A factor of a product: as it lies in memory, or the transpose of that.
template <bool kIsTransposed>
struct Factor {
  const float* data;
  std::ptrdiff_t stride;
  std::ptrdiff_t ahead;

  /// The matrix from row i on.
  Factor from_row(int i) const {
    return {kIsTransposed ? data + i : data + i * stride, stride, ahead};
  }
  float at(int i, int k) const {
    return kIsTransposed ? data[i + k * stride] : data[i * stride + k];
  }
};

/// As many floats as a vector register holds, and as many integers.
template <int kLanes>
struct Vector {
  typedef float type __attribute__((vector_size(kLanes * 4)));
  typedef std::uint32_t words __attribute__((vector_size(kLanes * 4)));
};

/// Ask for a cache line, to lie in the second cache: the first one holds this matrix.
[[gnu::always_inline]] inline void prefetch(const float* line) {
  __builtin_prefetch(line, 0, 2);
}

/// c += a b for kRows rows and kVectors * kLanes columns of c, which stay in registers.
template <int kRows, int kVectors, int kLanes, bool kIsTransposed>
[[gnu::always_inline]] inline void multiply_block(
    Factor<kIsTransposed> a, ConstTile b, Tile c, int depth) {
  using Floats = typename Vector<kLanes>::type;
  Floats sums[kRows][kVectors];
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      std::memcpy(&sums[i][v], c.data + i * c.stride + v * kLanes, sizeof(Floats));
    }
  }
  for (int k = 0; k < depth; ++k) {
    // The next a, or the next b if a is a transpose: the other one stays in the cache.
    if constexpr (kIsTransposed) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        prefetch(b.data + k * b.stride + v * kLanes + b.ahead);
      }
    } else if (k % kFloatsOfLine == 0) {
#pragma GCC unroll 8
      for (int i = 0; i < kRows; ++i) prefetch(&a.data[i * a.stride + k] + a.ahead);
    }
    Floats row[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      std::memcpy(&row[v], b.data + k * b.stride + v * kLanes, sizeof(Floats));
    }
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
      const float factor = a.at(i, k);
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) sums[i][v] += factor * row[v];
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      std::memcpy(c.data + i * c.stride + v * kLanes, &sums[i][v], sizeof(Floats));
    }
  }
}

/// Take kRows rows at a time, and those that are left in smaller blocks.
template <int kRows, int kVectors, int kLanes, bool kIsTransposed>
[[gnu::always_inline]] inline void multiply_columns(
    Factor<kIsTransposed> a, ConstTile b, Tile c, int num_rows, int depth) {
  int i = 0;
  for (; i + kRows <= num_rows; i += kRows) {
    multiply_block<kRows, kVectors, kLanes>(
        a.from_row(i), b, {c.data + i * c.stride, c.stride}, depth);
  }
  if constexpr (kRows > 1) {
    multiply_columns<kRows / 2, kVectors, kLanes>(
        a.from_row(i), b, {c.data + i * c.stride, c.stride}, num_rows - i, depth);
  }
}

/// Take wide blocks of columns first, and narrower ones for what is left.
template <int kRows, int kVectors, int kLanes, bool kIsTransposed>
[[gnu::always_inline]] inline void multiply_add(
    Factor<kIsTransposed> a,
    ConstTile b,
    Tile c,
    int num_rows,
    int num_columns,
    int depth) {
  constexpr int kColumns = kVectors * kLanes;
  // Some eight sums hide how long each takes, also where few vectors make a row.
  constexpr int kOwnRows = kVectors > 1 ? kRows : 8;
  int j = 0;
  for (; j + kColumns <= num_columns; j += kColumns) {
    multiply_columns<kOwnRows, kVectors, kLanes>(
        a, {b.data + j, b.stride, b.ahead}, {c.data + j, c.stride}, num_rows, depth);
  }
  if constexpr (kColumns > 1) {
    constexpr bool kIsNarrow = kVectors == 1;
    multiply_add<kRows, kIsNarrow ? 1 : kVectors / 2, kIsNarrow ? kLanes / 2 : kLanes>(
        a, {b.data + j, b.stride, b.ahead}, {c.data + j, c.stride}, num_rows,
        num_columns - j, depth);
  }
}

template <int kLanes>
[[gnu::always_inline]] inline void maxima(
    ConstTile x, int num_rows, int num_columns, float* tops) {
  using Floats = typename Vector<kLanes>::type;
  int j = 0;
  for (; j + kLanes <= num_columns; j += kLanes) {
    Floats own, row;
    std::memcpy(&own, tops + j, sizeof(own));
    for (int i = 0; i < num_rows; ++i) {
      std::memcpy(&row, x.data + i * x.stride + j, sizeof(row));
      own = row > own ? row : own;
    }
    std::memcpy(tops + j, &own, sizeof(own));
  }
  if constexpr (kLanes > 1) {
    maxima<kLanes / 2>({x.data + j, x.stride}, num_rows, num_columns - j, tops + j);
  }
}

template <int kLanes>
[[gnu::always_inline]] inline void exponentials(
    Tile x, int num_rows, int num_columns, const float* shifts, float* totals) {
  using Floats = typename Vector<kLanes>::type;
  int j = 0;
  for (; j + kLanes <= num_columns; j += kLanes) {
    Floats own, weights, sums{};
    std::memcpy(&own, shifts + j, sizeof(own));
    for (int i = 0; i < num_rows; ++i) {
      float* row = x.data + i * x.stride + j;
      std::memcpy(&weights, row, sizeof(weights));
      weights -= own;
      exponentiate<Floats, typename Vector<kLanes>::words>(weights);
      std::memcpy(row, &weights, sizeof(weights));
      sums += weights;
    }
    for (int lane = 0; lane < kLanes; ++lane) totals[j + lane] += sums[lane];
  }
  if constexpr (kLanes > 1) {
    exponentials<kLanes / 2>(
        {x.data + j, x.stride}, num_rows, num_columns - j, shifts + j, totals + j);
  }
}

/// Tell whether the processor has registers of 16 floats, and 32 of them.
inline bool has_wide_registers() {
  return instructions() == Instructions::avx512_vnni;
}

#if defined(__x86_64__)
/// 24 of the 32 registers hold sums.
template <bool kIsTransposed>
TINY_LLM_AVX512_VNNI void multiply_add_avx512(
    Factor<kIsTransposed> a,
    ConstTile b,
    Tile c,
    int num_rows,
    int num_columns,
    int depth) {
  multiply_add<6, 4, 16>(a, b, c, num_rows, num_columns, depth);
}

TINY_LLM_AVX512_VNNI inline void maxima_avx512(
    ConstTile x, int num_rows, int num_columns, float* tops) {
  maxima<16>(x, num_rows, num_columns, tops);
}

TINY_LLM_AVX512_VNNI inline void exponentials_avx512(
    Tile x, int num_rows, int num_columns, const float* shifts, float* totals) {
  exponentials<16>(x, num_rows, num_columns, shifts, totals);
}
#endif

template <bool kIsTransposed>
void multiply_add(
    Factor<kIsTransposed> a,
    ConstTile b,
    Tile c,
    int num_rows,
    int num_columns,
    int depth) {
#if defined(__x86_64__)
  if (has_wide_registers()) {
    return multiply_add_avx512(a, b, c, num_rows, num_columns, depth);
  }
#endif
  // Any processor has registers of 4 floats, and 16 of them at least.
  multiply_add<4, 2, 4>(a, b, c, num_rows, num_columns, depth);
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
#if defined(__x86_64__)
  if (tiles::has_wide_registers()) {
    return tiles::maxima_avx512(x, num_rows, num_columns, tops);
  }
#endif
  tiles::maxima<4>(x, num_rows, num_columns, tops);
}

/// Replace x by e^(x - shift of its column), and add the sums of columns to `totals`.
///
/// x: num_rows x num_columns, shifts and totals: num_columns.
inline void exponentials(
    Tile x, int num_rows, int num_columns, const float* shifts, float* totals) {
#if defined(__x86_64__)
  if (tiles::has_wide_registers()) {
    return tiles::exponentials_avx512(x, num_rows, num_columns, shifts, totals);
  }
#endif
  tiles::exponentials<4>(x, num_rows, num_columns, shifts, totals);
}

}  // namespace tiny_llm
