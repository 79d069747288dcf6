/// Attention to keys and values that lie in pages, for rows of their own length.
///
///     y[i] = sum over j of p[i, j] * v[j]
///     p[i, j] = e^(s[i, j] - m[i]) / sum over j of e^(s[i, j] - m[i])
///     s[i, j] = scale * (q[i] . k[j])
///
/// Key j of a row lies in slot j % P of page table[j / P]. m[i] is the largest score that
/// query i has seen so far, as in attention.h.
///
/// Shapes and strides are those of `PagedAttention`. The output overlaps no input. Slots
/// after the last key of a row, and entries of its table after the last page in use, may
/// hold anything, and are not read. Not handled are rows with fewer keys than queries
/// with a causal mask, other masks, and numbers other than floats.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

// What is not beside this file is in src/extensions_shared/kernels.
#include "kernels/collected.h"
#include "kernels/exponential.h"
#include "kernels/float_tiles.h"
#include "kernels/heads.h"
#include "kernels/paged_pieces.h"
#include "kernels/pages_of_heads.h"
#include "kernels/threads.h"

namespace tiny_llm {

/// One key after the other, wherever it lies, for each query by itself.
inline void paged_attention_online(const PagedAttention& a) {
  const Pages& pages = a.pages;
  std::vector<float> sums(static_cast<std::size_t>(pages.width));
  const auto attend = [&](const PagedRow& row, int h, int i) {
    float top = -std::numeric_limits<float>::infinity();
    float total = 0;
    std::fill(sums.begin(), sums.end(), 0.0f);
    const float* q = a.query_at(row, h, i);
    for (int j = 0; j < a.keys_seen_by(row, i); ++j) {
      const int page = row.table[j / pages.page_size];
      const int slot = j % pages.page_size;
      const float* k = pages.key_at(page, h / a.group(), slot);
      const float* v = pages.value_at(page, h / a.group(), slot);
      float score = 0;
      for (int d = 0; d < pages.width; ++d) score += q[d] * k[d];
      score *= a.scale;
      const float new_top = std::max(top, score);
      const float shrunk = exponential(top - new_top);
      const float weight = exponential(score - new_top);
      total = total * shrunk + weight;
      for (int d = 0; d < pages.width; ++d) sums[d] = sums[d] * shrunk + weight * v[d];
      top = new_top;
    }
    for (int d = 0; d < pages.width; ++d) a.output_at(row, h, i)[d] = sums[d] / total;
  };
  for (int r = 0; r < a.num_rows; ++r) {
    const PagedRow& row = a.rows[r];
    for (int h = 0; h < a.num_heads; ++h) {
      for (int i = 0; i < row.num_queries; ++i) attend(row, h, i);
    }
  }
}

namespace detail {

/// Find out where the keys of a row lie, from `first` up to and without `last`: a tile
/// at most. Returns the number of stretches.
inline std::size_t stretches_of(
    const Pages& pages, const PagedRow& row, int kv_head, int first, int last,
    Stretch* tile) {
  const auto place_of = [&](int j) {
    return pages.place(row.table[j / pages.page_size], kv_head, j % pages.page_size);
  };
  std::size_t num_stretches = 0;
  for (int j = first; j < last; j += tile[num_stretches++].count) {
    const std::ptrdiff_t place = place_of(j);
    const bool is_followed = j + tile_keys < row.num_keys;
    const std::ptrdiff_t ahead = is_followed ? place_of(j + tile_keys) - place : 0;
    const int room = pages.page_size - j % pages.page_size;
    tile[num_stretches] = {
        {pages.keys + place, pages.width, ahead},
        {pages.values + place, pages.width, ahead},
        std::min(room, last - j)};
  }
  return num_stretches;
}

/// Copy the stretches of a tile to one place.
inline Stretch joined(std::span<const Stretch> tile, int width, float* copy) {
  float* const values = copy + std::ptrdiff_t{tile_keys} * width;
  int count = 0;
  for (const Stretch& one : tile) {
    const std::ptrdiff_t at = std::ptrdiff_t{count} * width;
    const std::ptrdiff_t size = std::ptrdiff_t{one.count} * width;
    std::copy_n(one.keys.data, size, copy + at);
    std::copy_n(one.values.data, size, values + at);
    count += one.count;
  }
  return {{copy, width}, {values, width}, count};
}

/// Describe the queries of a row as attention.h does. The keys come tile by tile.
inline Attention queries_of(const PagedAttention& a, const PagedRow& row) {
  return {
      .query = {row.query, 0, a.head, a.position},
      .key = {},
      .value = {},
      .mask = {},
      .is_causal = a.is_causal,
      .scale = a.scale,
      .output = nullptr,
      .num_batches = 1,
      .num_heads = a.num_heads,
      .num_kv_heads = a.pages.num_kv_heads,
      .num_queries = row.num_queries,
      .num_keys = row.num_keys,
      .width = a.pages.width};
}

/// Let the queries of a block look at a piece of their keys.
inline void look_at_piece(
    const PagedAttention& a, const PagedPiece& piece, Collected& collected) {
  const PagedRow& row = *piece.block->row;
  // Where many rows look at a tile, a copy of it that lies in one place is worth it.
  const bool is_copied = collected.num_rows() > tile_rows;
  std::vector<float> copy(
      is_copied ? static_cast<std::size_t>(2 * tile_keys * a.pages.width) : 0);
  Stretch tile[tile_keys];
  for (int j = piece.first; j < piece.last; j += tile_keys) {
    const int last = std::min(j + tile_keys, piece.last);
    std::size_t count =
        stretches_of(a.pages, row, piece.block->queries.kv_head, j, last, tile);
    if (is_copied) tile[0] = joined({tile, count}, a.pages.width, copy.data());
    if (is_copied) count = 1;
    collected.look_at_tile({tile, count}, j);
  }
}

/// Let the queries of a block look at a piece of their keys. What they collect is, for
/// each query of each head, the largest score, the sum of weights, and D sums: with a
/// single piece the result, and else a part of it.
inline void attend_to_piece(const PagedAttention& a, const PagedPiece& piece) {
  const PagedRow& row = *piece.block->row;
  const Attention own = queries_of(a, row);
  Collected collected(own, piece.block->queries);
  look_at_piece(a, piece, collected);
  const int width = a.pages.width;
  for (int i = 0; i < collected.num_rows(); ++i) {
    const float* const sums = collected.sums(i);
    if (piece.part == nullptr) {
      float* y = a.output_at(row, collected.head_of(i), collected.query_of(i));
      for (int d = 0; d < width; ++d) y[d] = sums[d] / collected.total(i);
    } else {
      float* const part = piece.part + i * (width + 2);
      part[0] = collected.top(i);
      part[1] = collected.total(i);
      std::copy_n(sums, width, part + 2);
    }
  }
}

/// Merge what the pieces of a block have collected.
inline void merge_pieces(const PagedAttention& a, const PagedBlock& block) {
  const std::ptrdiff_t row_size = a.pages.width + 2;
  const int num_queries = block.queries.num_queries, num_rows = num_rows_of(a, block);
  const float* parts = block.parts.get();
  for (int i = 0; i < num_rows; ++i, parts += row_size) {
    const int head = block.queries.kv_head * a.group() + i / num_queries;
    const int query = block.queries.first_query + i % num_queries;
    merge(
        {parts, num_rows * row_size}, block.num_pieces, a.pages.width,
        a.output_at(*block.row, head, query));
  }
}

}  // namespace detail

/// Tiles of keys from several pages, for blocks of queries, on all cores.
///
/// The heads of a group work on a tile together, so it is read once for all of them. A
/// long context is cut into more pieces than a short one, so that no core waits for it.
inline void paged_attention_tiled(const PagedAttention& a) {
  std::vector<detail::PagedBlock> blocks = detail::blocks_of(a);
  const std::vector<detail::PagedPiece> pieces = detail::pieces_of(a, blocks);
  threads().run(static_cast<int>(pieces.size()), [&](int i) {
    detail::attend_to_piece(a, pieces[static_cast<std::size_t>(i)]);
  });
  for (const detail::PagedBlock& block : blocks) {
    if (block.parts) detail::merge_pieces(a, block);
  }
}

}  // namespace tiny_llm
