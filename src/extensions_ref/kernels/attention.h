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
#include "kernels/collected.h"
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
