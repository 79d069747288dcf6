/// What queries have collected from the keys that they have seen so far, tile by tile.
///
/// Attention to a cache and to pages share it: where a tile of keys lies is all that
/// differs between them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

// What is not beside this file is in src/extensions_shared/kernels.
#include "kernels/exponential.h"
#include "kernels/float_tiles.h"
#include "kernels/heads.h"

namespace tiny_llm {

namespace detail {

inline constexpr float minus_infinity = -std::numeric_limits<float>::infinity();

/// Keys of a tile: keys and values of 64 numbers each take 32 KB, a small cache.
inline constexpr int tile_keys = 64;
/// Rows whose scores are held at a time, for two registers of 16 floats: 8 KB.
inline constexpr int tile_rows = 32;
/// Rows are padded to a multiple of half a register.
inline constexpr int row_padding = 8;
/// Queries of a block, of each head of a group: many, as each block reads all keys.
inline constexpr int block_queries = 32;
/// Some keys and their values, which lie side by side.
struct Stretch {
  ConstTile keys;
  ConstTile values;
  int count;
};

/// Some queries, of all heads that share a key head.
struct Block {
  int batch;
  int kv_head;
  int first_query;
  int num_queries;
};

/// The queries of a block, and what they have collected from the keys seen so far.
///
/// Its rows are ordered by head of the group, then by query. Scores are transposed,
/// keys x rows: a row is a lane of a vector, and keys are read as they lie in memory.
class Collected {
 public:
  Collected(const Attention& a, Block block)
      : a_(a),
        block_(block),
        num_rows_(a.group() * block.num_queries),
        padded_((num_rows_ + row_padding - 1) / row_padding * row_padding),
        memory_(
            static_cast<std::size_t>(padded_) * (2 * a.width + 2) +
            tile_keys * tile_rows),
        queries_(memory_.data()),
        sums_(queries_ + static_cast<std::ptrdiff_t>(padded_) * a.width),
        tops_(sums_ + static_cast<std::ptrdiff_t>(padded_) * a.width),
        totals_(tops_ + padded_),
        scores_(totals_ + padded_) {
    for (int row = 0; row < num_rows_; ++row) {
      const float* q = a.query.at(block.batch, head_of(row), query_of(row));
      for (std::ptrdiff_t d = 0; d < a.width; ++d) {
        queries_[d * padded_ + row] = q[d] * a.scale;
      }
    }
    std::fill(tops_, totals_, minus_infinity);
  }

  int num_rows() const { return num_rows_; }
  int head_of(int row) const {
    return block_.kv_head * a_.group() + row / block_.num_queries;
  }
  int query_of(int row) const { return block_.first_query + row % block_.num_queries; }
  float top(int row) const { return tops_[row]; }
  float total(int row) const { return totals_[row]; }
  const float* sums(int row) const { return sums_of(row); }

  /// Look at all keys from `first` on, up to and without `last`.
  void look_at(int first, int last) {
    last = std::min(last, a_.keys_seen_by(block_.first_query + block_.num_queries - 1));
    for (int j = first; j < last; j += tile_keys) {
      const int count = std::min(tile_keys, last - j);
      const bool is_followed = j + 2 * tile_keys <= last;
      const Stretch all{
          tile_of(a_.key, j, is_followed), tile_of(a_.value, j, is_followed), count};
      look_at_tile({&all, 1}, j);
    }
  }

  /// Look at a tile of which key `first` is the first, in the stretches where it lies.
  void look_at_tile(std::span<const Stretch> tile, int first) {
    for (int row = 0; row < num_rows_; row += tile_rows) look_at_tile(tile, first, row);
  }

 private:
  float* sums_of(std::ptrdiff_t row) const { return sums_ + row * a_.width; }

  ConstTile tile_of(const Heads& x, int j, bool is_followed) const {
    const std::ptrdiff_t ahead = is_followed ? tile_keys * x.position : 0;
    return {x.at(block_.batch, block_.kv_head, j), x.position, ahead};
  }

  /// Let tile_rows rows, or as many as there are, look at a tile.
  void look_at_tile(std::span<const Stretch> tile, int first, int row) {
    const int padded = std::min(tile_rows, padded_ - row);
    const int rows = std::min(tile_rows, num_rows_ - row);
    int num_keys = 0;
    for (const Stretch& one : tile) num_keys += one.count;
    std::fill(scores_, scores_ + num_keys * tile_rows, 0.0f);
    float* scores = scores_;
    for (const auto& [keys, values, count] : tile) {
      multiply_add(
          keys, {queries_ + row, padded_}, {scores, tile_rows}, count, padded, a_.width);
      scores += count * tile_rows;
    }
    for (int i = 0; i < rows; ++i) forbid(row + i, scores_ + i, first, num_keys);
    weigh(row, padded, num_keys);
    scores = scores_;
    for (const auto& [keys, values, count] : tile) {
      multiply_add_transposed(
          {scores, tile_rows}, values, {sums_of(row), a_.width}, rows, a_.width,
          count);
      scores += count * tile_rows;
    }
  }

  /// Add the mask to the scores of a row, of which the next is tile_rows floats away.
  void forbid(int row, float* scores, int first, int count) {
    const int query = query_of(row);
    if (a_.mask.data != nullptr) {
      const float* mask = a_.mask.at(block_.batch, head_of(row), query, first);
      for (int j = 0; j < count; ++j) scores[j * tile_rows] += mask[j * a_.mask.key];
    }
    const int num_seen = std::max(0, a_.keys_seen_by(query) - first);
    for (int j = num_seen; j < count; ++j) scores[j * tile_rows] = minus_infinity;
  }

  /// Turn scores of some rows into weights, and scale down what they have collected.
  void weigh(int row, int num_rows, int count) {
    float shifts[tile_rows];
    float shrunk[tile_rows];
    std::copy_n(tops_ + row, num_rows, shrunk);
    maxima({scores_, tile_rows}, count, num_rows, tops_ + row);
    for (int i = 0; i < num_rows; ++i) {
      // All is forbidden so far, and minus infinity from itself would be NaN.
      shifts[i] = tops_[row + i] == minus_infinity ? 0.0f : tops_[row + i];
      shrunk[i] = exponential(shrunk[i] - shifts[i]);
      totals_[row + i] *= shrunk[i];
    }
    exponentials({scores_, tile_rows}, count, num_rows, shifts, totals_ + row);
    for (int i = 0; i < num_rows; ++i) {
      if (shrunk[i] == 1.0f) continue;
      float* sums = sums_of(row + i);
      for (int d = 0; d < a_.width; ++d) sums[d] *= shrunk[i];
    }
  }

  const Attention& a_;
  Block block_;
  int num_rows_;
  int padded_;
  std::vector<float> memory_;
  float* queries_;  ///< D x padded rows, scaled
  float* sums_;     ///< padded rows x D: the weighted values
  float* tops_;     ///< padded rows: the largest score
  float* totals_;   ///< padded rows: the sum of the weights
  float* scores_;   ///< tile_keys x tile_rows: scores, then weights
};

/// Merge what pieces have collected for one row: each is scaled down to the largest.
///
/// A piece is the largest score, the sum of weights, and D sums.
inline void merge(ConstTile pieces, int num_pieces, int width, float* y) {
  float top = minus_infinity;
  for (int i = 0; i < num_pieces; ++i) {
    top = std::max(top, pieces.data[i * pieces.stride]);
  }
  float total = 0;
  std::fill(y, y + width, 0.0f);
  for (int i = 0; i < num_pieces; ++i) {
    const float* piece = pieces.data + i * pieces.stride;
    const float share = exponential(piece[0] - top);
    total += piece[1] * share;
    for (int d = 0; d < width; ++d) y[d] += piece[2 + d] * share;
  }
  for (int d = 0; d < width; ++d) y[d] /= total;
}

}  // namespace detail

}  // namespace tiny_llm
