/// A quantised matrix times many vectors, in integers: packing, tiles, threads.
///
///     y[t, o] = sum over g of   scales[o, g] * scale[t, g] * dot[t, o, g]
///                             + biases[o, g] * sum[t, g]
///
/// Here x[t, i] ~ scale[t, g] * e[t, i], where e is what int8.h calls q, sum[t, g] is
/// scale[t, g] times the sum of e over the group, and dot[t, o, g] the sum of
/// q[o, i] * e[t, i] over it: of integers, so exact.
///
/// x: L x I, w: O x I (see quantized_matrix.h), y: L x O, where L is `num_tokens`, 1 or
/// more. All are contiguous, and y overlaps neither of the others. x must be finite.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

// What is not beside this file is in src/extensions_shared/kernels.
#include "kernels/buffer.h"
#include "kernels/int8.h"
#include "kernels/matmul_packing.h"
#include "kernels/matmul_packing_narrow.h"
#include "kernels/matmul_tiles.h"
#include "kernels/matmul_tiles_narrow.h"
#include "kernels/numbers.h"
#include "kernels/panel.h"
#include "kernels/quantized_matrix.h"
#include "kernels/threads.h"

namespace tiny_llm {

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
  switch (instructions()) {
#if defined(__x86_64__)
    case Instructions::avx512_vnni:
      detail::pack_avx512(w, first_row, panel.q);
      if (detail::pack_scales_avx512(w, first_row, panel)) return;
      break;
    case Instructions::avx_vnni:
    case Instructions::avx2: detail::pack_narrow(w, first_row, panel.q); break;
#elif defined(__aarch64__)
    case Instructions::neon_dotprod:
    case Instructions::neon: detail::pack_narrow(w, first_row, panel.q); break;
#endif
    default: detail::pack_portable(w, first_row, panel.q);
  }
  for (int r = 0; r < panel_rows; ++r) {
    const int row = detail::row_of_panel(w, first_row, r);
    for (int g = 0; g < w.groups(); ++g) {
      panel.scales[g * panel_rows + r] = to_float(w.row_scales(row)[g]);
      panel.biases[g * panel_rows + r] = to_float(w.row_biases(row)[g]);
    }
  }
}

namespace detail {

/// How many panels are packed together and used for a tile before the next: with more,
/// x is read from the first cache more often, and longer pieces of y are written. Four
/// of 4864 inputs, 304 KB, stay in a second cache of 1 MB.
inline constexpr int panels_together = 4;
inline constexpr int rows_together = panels_together * panel_rows;

/// The activations of a product, of one token at least, in tiles, and where each begins.
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

  int size() const { return (num_tokens_ - 1) / tile_tokens + 1; }

  /// The first token of a tile. Tiles are as equal as can be. Of a long text, tokens
  /// times tiles are no int.
  int first(int tile) const {
    return static_cast<int>(std::int64_t{num_tokens_} * tile / size());
  }

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
  const std::ptrdiff_t n = tokens.num_tokens;
  const Buffer<std::int8_t> q(n * w.num_columns);
  const Buffer<float> scales(w.groups());
  const Buffer<float> sums(w.groups());
  for (std::ptrdiff_t t = 0; t < n; ++t) {
    quantize_activations(
        x + (tiles.first(tile) + t) * w.num_columns,
        {q.data() + t * w.num_columns, scales.data(), sums.data(), w.num_columns,
         w.group_size, w.bits});
    for (std::ptrdiff_t g = 0; g < w.groups(); ++g) {
      tokens.scales[g * n + t] = scales.data()[g];
      tokens.sums[g * n + t] = sums.data()[g];
    }
  }
  interleave(q.data(), w.num_columns, tokens);
}

/// Memory that will be needed, asked for part by part while something else is computed.
class AskAhead {
 public:
  AskAhead(const void* first, const void* last, int num_parts)
      : first_(static_cast<const std::byte*>(first)),
        num_bytes_(static_cast<const std::byte*>(last) - first_),
        num_parts_(num_parts) {}

  void ask_for_part() {
    const std::ptrdiff_t end = num_bytes_ * ++num_asked_ / num_parts_;
    for (; at_ < end; at_ += 64) __builtin_prefetch(first_ + at_, 0, 2);
  }

 private:
  const std::byte* first_;
  std::ptrdiff_t num_bytes_;
  int num_parts_;
  int num_asked_ = 0;
  std::ptrdiff_t at_ = 0;
};

/// Compute 64 outputs of every token, or as many as there are from `first_row` on.
template <class Scale>
void multiply_panels(
    const Tiles& tiles, const QuantizedMatrix<Scale>& w, float* y, int first_row) {
  const std::ptrdiff_t q_size = std::ptrdiff_t{w.num_columns} * panel_rows;
  const std::ptrdiff_t scales_size = std::ptrdiff_t{w.groups()} * panel_rows;
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
  // The other threads take what lies between.
  const int next_row =
      std::min(first_row + rows_together * threads().size(), w.num_rows);
  const int end_row = std::min(next_row + rows_together, w.num_rows);
  const int num_panels = (num_rows - 1) / panel_rows + 1;
  AskAhead next{w.row(next_row), w.row(end_row), num_panels * tiles.size()};
  const Inputs inputs{w.groups(), w.group_size / 4, w.bits};
  for (int tile = 0; tile < tiles.size(); ++tile) {
    const Tokens tokens = tiles[tile];
    const MultiplyTile multiply = multiply_tile(tokens.num_tokens);
    float* const first = y + tiles.first(tile) * std::ptrdiff_t{w.num_rows} + first_row;
    for (int row = 0; row < num_rows; row += panel_rows) {
      const Outputs outputs{
          first + row, w.num_rows, std::min(panel_rows, num_rows - row)};
      next.ask_for_part();
      multiply(panel(row), tokens, outputs, inputs);
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
