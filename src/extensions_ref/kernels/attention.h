/// Attention without a matrix of scores: three rungs of a ladder.
///
///     y[i] = sum over j of p[i, j] * v[j]
///     p[i, j] = e^(s[i, j] - m[i]) / sum over j of e^(s[i, j] - m[i])
///     s[i, j] = scale * (q[i] . k[j]) + mask[i, j]
///
/// m[i] may be any number: it cancels. It is the largest score that has been seen so
/// far, and when a larger one comes, what has been added up is scaled down.
///
/// Shapes and strides are those of `Attention`. The output overlaps no input. Not handled
/// are a query that may look at no key, positions without a key (L > S with a causal
/// mask), and numbers other than floats.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <memory>
#include <vector>

// What is not beside this file is in src/extensions_shared/kernels.
#include "kernels/exponential.h"
#include "kernels/float_tiles.h"
#include "kernels/heads.h"
#include "kernels/threads.h"

namespace tiny_llm {

/// One key after the other, with a running maximum, for each query by itself.
inline void attention_online(const Attention& a) {
  std::vector<float> sums(static_cast<std::size_t>(a.width));
  const auto attend = [&](int b, int h, int i) {
    float top = -std::numeric_limits<float>::infinity();
    float total = 0;
    std::fill(sums.begin(), sums.end(), 0.0f);
    const float* q = a.query.at(b, h, i);
    for (int j = 0; j < a.keys_seen_by(i); ++j) {
      const float* k = a.key.at(b, h / a.group(), j);
      const float* v = a.value.at(b, h / a.group(), j);
      float score = 0;
      for (int d = 0; d < a.width; ++d) score += q[d] * k[d];
      score *= a.scale;
      if (a.mask.data != nullptr) score += *a.mask.at(b, h, i, j);
      const float new_top = std::max(top, score);
      // All was forbidden so far, and minus infinity from itself would be NaN.
      if (new_top == -std::numeric_limits<float>::infinity()) continue;
      const float shrunk = exponential(top - new_top);
      const float weight = exponential(score - new_top);
      total = total * shrunk + weight;
      for (int d = 0; d < a.width; ++d) sums[d] = sums[d] * shrunk + weight * v[d];
      top = new_top;
    }
    for (int d = 0; d < a.width; ++d) a.output_at(b, h, i)[d] = sums[d] / total;
  };
  for (int b = 0; b < a.num_batches; ++b) {
    for (int h = 0; h < a.num_heads; ++h) {
      for (int i = 0; i < a.num_queries; ++i) attend(b, h, i);
    }
  }
}

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
/// Keys of a piece of the cache, at least: many, as each piece ends with merging.
inline constexpr int fewest_keys = 256;
/// Pieces for each thread: some more than one, so that all end at about the same time.
inline constexpr int pieces_of_thread = 4;

/// How many keys a piece of the cache has: whole tiles, and enough for all threads.
inline int keys_of_piece(int num_keys, int num_heads) {
  const auto rounded_up = [](int count, int step) { return (count - 1) / step + 1; };
  const int wanted = rounded_up(pieces_of_thread * threads().size(), num_heads);
  const int most = rounded_up(num_keys, fewest_keys);
  const int num_tiles = rounded_up(num_keys, tile_keys);
  return tile_keys * rounded_up(num_tiles, std::min(wanted, most));
}

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
      const ConstTile keys = tile_of(a_.key, j, is_followed);
      const ConstTile values = tile_of(a_.value, j, is_followed);
      for (int row = 0; row < num_rows_; row += tile_rows) {
        look_at_tile(keys, values, j, count, row);
      }
    }
  }

 private:
  float* sums_of(std::ptrdiff_t row) const { return sums_ + row * a_.width; }

  ConstTile tile_of(const Heads& x, int j, bool is_followed) const {
    const std::ptrdiff_t ahead = is_followed ? tile_keys * x.position : 0;
    return {x.at(block_.batch, block_.kv_head, j), x.position, ahead};
  }

  /// Let tile_rows rows, or as many as there are, look at a tile.
  void look_at_tile(ConstTile keys, ConstTile values, int first, int count, int row) {
    const int padded = std::min(tile_rows, padded_ - row);
    const int rows = std::min(tile_rows, num_rows_ - row);
    std::fill(scores_, scores_ + count * tile_rows, 0.0f);
    multiply_add(
        keys, {queries_ + row, padded_}, {scores_, tile_rows}, count, padded, a_.width);
    for (int i = 0; i < rows; ++i) forbid(row + i, scores_ + i, first, count);
    weigh(row, padded, count);
    multiply_add_transposed(
        {scores_, tile_rows}, values, {sums_of(row), a_.width}, rows, a_.width,
        count);
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

/// Tiles of keys for blocks of queries, on all cores.
///
/// The heads of a group work on a tile together, so it is read once for all of them.
/// Tiles that no query of a block may look at are skipped.
inline void attention_tiled(const Attention& a) {
  using detail::block_queries;
  const int num_blocks = (a.num_queries + block_queries - 1) / block_queries;
  const int num_heads = a.num_batches * a.num_kv_heads;
  threads().run(num_heads * num_blocks, [&](int unit) {
    // The last queries see the most keys, and take longest: they begin.
    const int first = (num_blocks - 1 - unit / num_heads) * block_queries;
    const int head = unit % num_heads;
    detail::Collected block(
        a, {head / a.num_kv_heads, head % a.num_kv_heads, first,
            std::min(block_queries, a.num_queries - first)});
    block.look_at(0, a.num_keys);
    for (int row = 0; row < block.num_rows(); ++row) {
      const int b = head / a.num_kv_heads;
      float* y = a.output_at(b, block.head_of(row), block.query_of(row));
      for (int d = 0; d < a.width; ++d) y[d] = block.sums(row)[d] / block.total(row);
    }
  });
}

/// Pieces of the keys, on all cores: for few queries that look at many keys.
///
/// Each piece ends with a maximum, a sum of weights, and a sum of weighted values. The
/// pieces of a query are then merged: each is scaled down to the largest maximum.
inline void attention_split(const Attention& a) {
  const int num_heads = a.num_batches * a.num_kv_heads;
  if (num_heads == 0) return;
  const int piece = detail::keys_of_piece(a.num_keys, num_heads);
  const int num_pieces = (a.num_keys + piece - 1) / piece;
  const int num_rows = a.group() * a.num_queries;
  // Of each row in each unit: the largest score, the sum of weights, then D sums.
  const std::ptrdiff_t row_size = a.width + 2;
  const std::ptrdiff_t unit_size = num_rows * row_size;
  const auto parts = std::make_unique_for_overwrite<float[]>(
      static_cast<std::size_t>(num_heads * num_pieces * unit_size));
  const auto block_of = [&](int head) {
    return detail::Block{
        head / a.num_kv_heads, head % a.num_kv_heads, 0, a.num_queries};
  };
  threads().run(num_heads * num_pieces, [&](int unit) {
    detail::Collected part(a, block_of(unit / num_pieces));
    const int first = unit % num_pieces * piece;
    part.look_at(first, std::min(first + piece, a.num_keys));
    float* out = parts.get() + unit * unit_size;
    for (int row = 0; row < num_rows; ++row, out += row_size) {
      out[0] = part.top(row);
      out[1] = part.total(row);
      std::copy_n(part.sums(row), a.width, out + 2);
    }
  });
  for (int head = 0; head < num_heads; ++head) {
    for (int row = 0; row < num_rows; ++row) {
      const float* first = parts.get() + head * num_pieces * unit_size + row * row_size;
      const int query_head =
          head % a.num_kv_heads * a.group() + row / a.num_queries;
      float* y =
          a.output_at(head / a.num_kv_heads, query_head, row % a.num_queries);
      detail::merge({first, unit_size}, num_pieces, a.width, y);
    }
  }
}

}  // namespace tiny_llm
