/// How attention to pages is cut, so that all threads have as much to do.
///
/// Queries are cut into blocks, and the keys that a block looks at into pieces of about
/// as many scores. Where a block has several pieces, what they collect is merged then.
///
/// Shapes are those of `PagedAttention`. Not handled are rows without keys.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

// What is not beside this file is in src/extensions_shared/kernels.
#include "kernels/collected.h"
#include "kernels/heads.h"
#include "kernels/pages_of_heads.h"
#include "kernels/threads.h"

namespace tiny_llm {

namespace detail {

/// Keys of a piece of a context, at least: many, as each piece ends with merging.
inline constexpr int fewest_paged_keys = 256;
/// Pieces for each thread: one that begins late leaves some to the others.
inline constexpr int paged_pieces_of_thread = 2;

/// Some queries of a row, which look at their keys together.
struct PagedBlock {
  const PagedRow* row;
  Block queries;   ///< of the only batch that a row is
  int num_keys;    ///< as many as its last query looks at
  int num_pieces;  ///< into which these are cut
  /// What the pieces collect, one after the other. A single one writes to the output.
  std::unique_ptr<float[]> parts;
};

/// Some keys of a block.
struct PagedPiece {
  const PagedBlock* block;
  int first;
  int last;
  float* part;  ///< what they collect; null if there are no others
};

/// Cut the queries of all rows into blocks.
inline std::vector<PagedBlock> blocks_of(const PagedAttention& a) {
  std::vector<PagedBlock> blocks;
  for (int r = 0; r < a.num_rows; ++r) {
    const PagedRow& row = a.rows[r];
    // The last queries see the most keys, and take longest: they begin.
    for (int i = (row.num_queries - 1) / block_queries * block_queries; i >= 0;
         i -= block_queries) {
      const int count = std::min(block_queries, row.num_queries - i);
      const int num_keys = a.keys_seen_by(row, i + count - 1);
      for (int head = 0; head < a.pages.num_kv_heads; ++head) {
        blocks.push_back({&row, {0, head, i, count}, num_keys, 0, nullptr});
      }
    }
  }
  return blocks;
}

/// How many rows of scores a block has: its queries, of each head of the group.
inline int num_rows_of(const PagedAttention& a, const PagedBlock& block) {
  return a.group() * block.queries.num_queries;
}

/// How many scores a piece has: about as many in each, and enough for all threads.
inline std::int64_t scores_of_piece(
    const PagedAttention& a, const std::vector<PagedBlock>& blocks) {
  std::int64_t num_scores = 0;
  for (const PagedBlock& one : blocks) {
    num_scores += std::int64_t{num_rows_of(a, one)} * one.num_keys;
  }
  return num_scores / (paged_pieces_of_thread * threads().size());
}

/// Cut the keys of all blocks into pieces.
inline std::vector<PagedPiece> pieces_of(
    const PagedAttention& a, std::vector<PagedBlock>& blocks) {
  const std::int64_t num_scores = scores_of_piece(a, blocks);
  std::vector<PagedPiece> pieces;
  for (PagedBlock& block : blocks) {
    const int num_rows = num_rows_of(a, block);
    const std::int64_t num_tiles = num_scores / num_rows / tile_keys;
    const int size = static_cast<int>(std::min<std::int64_t>(
        std::max<std::int64_t>(num_tiles * tile_keys, fewest_paged_keys),
        block.num_keys));
    block.num_pieces = (block.num_keys - 1) / size + 1;
    const std::ptrdiff_t part = std::ptrdiff_t{num_rows} * (a.pages.width + 2);
    if (block.num_pieces > 1) {
      block.parts = std::make_unique_for_overwrite<float[]>(
          static_cast<std::size_t>(block.num_pieces * part));
    }
    for (int i = 0; i < block.num_pieces; ++i) {
      const int first = i * size, last = std::min(first + size, block.num_keys);
      float* const out = block.parts ? block.parts.get() + i * part : nullptr;
      pieces.push_back({&block, first, last, out});
    }
  }
  return pieces;
}

}  // namespace detail

}  // namespace tiny_llm
