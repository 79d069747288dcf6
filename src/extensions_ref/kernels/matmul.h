/// A quantised matrix times many vectors, in floats: the first rungs of a ladder.
///
///     y[t, o] = sum over i of w[o, i] * x[t, i]
///
/// x: L x I, w: O x I (see quantized_matrix.h), y: L x O, where L is `num_tokens`, 1 or
/// more. All are contiguous, and y overlaps neither of the others.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>

// What is not beside this file is in src/extensions_shared/kernels.
#include "kernels/numbers.h"
#include "kernels/quantized_matrix.h"
#include "kernels/wide.h"

namespace tiny_llm {

/// One product after the other, as the formula says: each weight is unpacked L times.
template <class Scale>
void matmul_naive(
    const float* x, const QuantizedMatrix<Scale>& w, float* y, int num_tokens) {
  for (std::ptrdiff_t t = 0; t < num_tokens; ++t) {
    const float* const token = x + t * w.num_columns;
    for (int o = 0; o < w.num_rows; ++o) {
      float sum = 0;
      for (int i = 0; i < w.num_columns; ++i) {
        const int group = i / w.group_size;
        const float scale = to_float(w.row_scales(o)[group]);
        const float bias = to_float(w.row_biases(o)[group]);
        sum += (scale * static_cast<float>(w.q(o, i)) + bias) * token[i];
      }
      y[t * w.num_rows + o] = sum;
    }
  }
}

namespace detail {

/// How many outputs are computed at once: a line of the cache in y.
inline constexpr int block_rows = 16;

/// How many inputs: so that a block of floats, 16 KB, leaves room for a token in the
/// first cache, which has 32 KB or more.
inline constexpr int block_columns = 256;

/// Some inputs of the matrix: those from `first` up to and without `last`.
struct Columns {
  int first;
  int last;
};

/// Unpack a block of the matrix into floats, the 16 outputs of an input side by side.
template <class Scale>
void unpack_block(
    const QuantizedMatrix<Scale>& w, Rows rows, Columns columns, float* block) {
  for (int o = rows.first; o < rows.last; ++o) {
    for (int i = columns.first; i < columns.last; ++i) {
      const int group = i / w.group_size;
      const float scale = to_float(w.row_scales(o)[group]);
      const float bias = to_float(w.row_biases(o)[group]);
      block[(i - columns.first) * block_rows + o - rows.first] =
          scale * static_cast<float>(w.q(o, i)) + bias;
    }
  }
}

/// Four floats: what a register of every processor holds.
using Floats = Vectors<4>::Floats;

/// Add to `num_outputs` results of one token what the inputs of a block contribute.
inline void add_block(
    const float* x, const float* block, int num_inputs, float* y, int num_outputs) {
  Floats sums[block_rows / 4] = {};
  for (int i = 0; i < num_inputs; ++i) {
#pragma GCC unroll 4
    for (int part = 0; part < block_rows / 4; ++part) {
      Floats weights;
      std::memcpy(&weights, block + i * block_rows + part * 4, sizeof(weights));
      sums[part] += weights * x[i];
    }
  }
  float each[block_rows];
  std::memcpy(each, sums, sizeof(each));
  for (int r = 0; r < num_outputs; ++r) y[r] += each[r];
}

}  // namespace detail

/// A block of the matrix after the other, unpacked once and used for all tokens.
template <class Scale>
void matmul_blocked(
    const float* x, const QuantizedMatrix<Scale>& w, float* y, int num_tokens) {
  std::fill_n(y, static_cast<std::ptrdiff_t>(num_tokens) * w.num_rows, 0.0f);
  if (num_tokens == 0) return;
  float block[detail::block_columns * detail::block_rows] = {};
  for (int row = 0; row < w.num_rows; row += detail::block_rows) {
    const Rows rows{row, std::min(row + detail::block_rows, w.num_rows)};
    for (int column = 0; column < w.num_columns; column += detail::block_columns) {
      const detail::Columns columns{
          column, std::min(column + detail::block_columns, w.num_columns)};
      detail::unpack_block(w, rows, columns, block);
      for (std::ptrdiff_t t = 0; t < num_tokens; ++t) {
        detail::add_block(
            x + t * w.num_columns + column, block, columns.last - column,
            y + t * w.num_rows + row, rows.last - row);
      }
    }
  }
}

}  // namespace tiny_llm
