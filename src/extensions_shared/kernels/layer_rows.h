/// A layer of the model for the new tokens of several texts: a row is one text.
///
///     h = x + attention(rms_norm(x), cache of the row)
///     y = h + mlp(rms_norm(h))
///
/// x, y: T x E, the new tokens of all rows, one row after the other. Products take all T
/// at once, so that weights are read once for all. The rest of attention is done row by
/// row, by all threads at the same time.
///
/// Keys and values of a row lie in pages: N x H_kv x P x D, and a table says which. A
/// buffer with room for C tokens is one page with P = C. Rows may share pages that they
/// only read. All is in float32 except the scales of the weights, and nothing overlaps.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "kernels/attention.h"
#include "kernels/fused.h"
#include "kernels/heads.h"
#include "kernels/layer_parts.h"
#include "kernels/layer_row.h"
#include "kernels/pages_of_heads.h"
#include "kernels/threads.h"

namespace tiny_llm {

/// A kernel of attention to pages: paged.h has some.
using AttendPages = void (*)(const PagedAttention&);

/// The heads of a layer, and a table for all positions of all rows.
struct LayerHeads {
  const float* cosines;  ///< positions x D / 2
  const float* sines;    ///< likewise
  int num_heads;         ///< H
  int num_kv_heads;      ///< H_kv
  int width;             ///< D

  int group() const { return num_heads / num_kv_heads; }
};

/// What a layer does with each row by itself.
class RowParts {
 public:
  RowParts(const LayerHeads& heads, const std::vector<LayerRow>& rows)
      : heads_(heads), rows_(rows) {
    for (const LayerRow& row : rows) {
      first_tokens_.push_back(num_tokens());
      for (int i = 0; i < row.num_tokens; ++i) places_.push_back({&row, row.offset + i});
    }
  }

  /// T, the new tokens of all rows.
  int num_tokens() const { return static_cast<int>(places_.size()); }

  /// Rotate the heads of each token by its position in its row.
  TokenVectors rotated(const TokenVectors& x) const {
    TokenVectors y(num_tokens(), x.length());
    const int D = heads_.width;
    share_rows(num_tokens(), x.length(), [&](Rows tokens) {
      for (int token = tokens.first; token < tokens.last; ++token) {
        const std::ptrdiff_t at = std::ptrdiff_t{token} * x.length();
        const RotatedHeads heads{1, x.length() / D, D, place_of(token).position};
        rope(
            x.data() + at, heads_.cosines, heads_.sines, heads, y.data() + at,
            {0, 1});
      }
    });
    return y;
  }

  /// Put the vectors of each token into its row's pages, of keys or of values.
  void remember(const TokenVectors& x, float* LayerRow::* pages) const {
    const std::ptrdiff_t D = heads_.width;
    const float* from = x.data();
    for (const auto& [row, position] : places_) {
      for (int head = 0; head < heads_.num_kv_heads; ++head, from += D) {
        const std::ptrdiff_t place =
            row->place_of(position, head, heads_.num_kv_heads);
        std::copy_n(from, D, row->*pages + place * D);
      }
    }
  }

  /// Let the queries of each row attend to its tokens, by a kernel that takes all rows.
  TokenVectors attended(const TokenVectors& query, AttendPages attend) const {
    TokenVectors y(num_tokens(), query.length());
    std::vector<PagedRow> rows;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const LayerRow& row = rows_[i];
      const std::ptrdiff_t begin = std::ptrdiff_t{first_tokens_[i]} * query.length();
      rows.push_back(
          {query.data() + begin, y.data() + begin, row.table, row.num_tokens,
           row.num_keys()});
    }
    const LayerRow& any = rows_.front();
    const int D = heads_.width;
    attend({
        .pages = {any.keys, any.values, heads_.num_kv_heads, any.page_size, D},
        .rows = rows.data(),
        .num_rows = static_cast<int>(rows.size()),
        .head = D,
        .position = query.length(),
        .num_heads = heads_.num_heads,
        .is_causal = true,
        .scale = scale()});
    return y;
  }

  /// Let the queries of each row attend to its tokens, which lie in one page.
  TokenVectors attended(const TokenVectors& query) const {
    TokenVectors y(num_tokens(), query.length());
    const std::vector<Block> blocks = blocks_by_length();
    const int num_blocks = static_cast<int>(blocks.size());
    const auto attend = [&](int i) {
      attend_block(blocks[static_cast<std::size_t>(i)], query.data(), y.data());
    };
    if (num_blocks < threads().size()) {
      // The kernel shares what a block is.
      for (int i = 0; i < num_blocks; ++i) attend(i);
    } else {
      threads().run(num_blocks, attend);
    }
    return y;
  }

 private:
  /// Where a new token stands.
  struct Place {
    const LayerRow* row;
    int position;
  };

  /// Some queries of a row, of all heads that share a key head.
  struct Block {
    const LayerRow* row;
    int first_token;  ///< of all T
    int num_queries;
    int num_keys;
    int kv_head;

    std::ptrdiff_t work() const { return std::ptrdiff_t{num_queries} * num_keys; }
  };

  float scale() const { return 1 / std::sqrt(static_cast<float>(heads_.width)); }

  Place place_of(int token) const { return places_[static_cast<std::size_t>(token)]; }

  /// Cut the rows into blocks. Those that take longest come first, so that all threads
  /// end at about the same time.
  std::vector<Block> blocks_by_length() const {
    // As many as read a key together: more blocks read it more often.
    constexpr int most_queries = 32;
    std::vector<Block> blocks;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const LayerRow& row = rows_[i];
      for (int first = 0; first < row.num_tokens; first += most_queries) {
        const int num_queries = std::min(most_queries, row.num_tokens - first);
        for (int head = 0; head < heads_.num_kv_heads; ++head) {
          blocks.push_back(
              {&row, first_tokens_[i] + first, num_queries,
               row.offset + first + num_queries, head});
        }
      }
    }
    std::stable_sort(blocks.begin(), blocks.end(), [](const Block& a, const Block& b) {
      return a.work() > b.work();
    });
    return blocks;
  }

  /// Attend as one small call does, and put the results side by side.
  void attend_block(const Block& block, const float* query, float* y) const {
    const std::ptrdiff_t D = heads_.width;
    const int group = heads_.group();
    const std::ptrdiff_t length = heads_.num_heads * D;
    const std::ptrdiff_t begin = block.first_token * length + block.kv_head * group * D;
    const TokenVectors heads(block.num_queries, group * heads_.width);
    const Attention attention = attention_of(block, query + begin, heads.data());
    // Few queries leave most cores idle, unless these share the keys.
    if (block.num_queries < 16) {
      attention_split(attention);
    } else {
      attention_tiled(attention);
    }
    for (int head = 0; head < group; ++head) {
      for (int i = 0; i < block.num_queries; ++i) {
        const float* const from = heads.data() + (head * block.num_queries + i) * D;
        std::copy_n(from, D, y + begin + i * length + head * D);
      }
    }
  }

  Attention attention_of(const Block& block, const float* query, float* output) const {
    const LayerRow& row = *block.row;
    const std::ptrdiff_t D = heads_.width;
    const std::ptrdiff_t first =
        row.place_of(0, block.kv_head, heads_.num_kv_heads) * D;
    return {
        .query = {query, 0, D, heads_.num_heads * D},
        .key = {row.keys + first, 0, 0, D},
        .value = {row.values + first, 0, 0, D},
        .mask = {},
        .is_causal = true,
        .scale = scale(),
        .output = output,
        .num_batches = 1,
        .num_heads = heads_.group(),
        .num_kv_heads = 1,
        .num_queries = block.num_queries,
        .num_keys = block.num_keys,
        .width = heads_.width};
  }

  LayerHeads heads_;
  const std::vector<LayerRow>& rows_;
  std::vector<Place> places_;      ///< T
  std::vector<int> first_tokens_;  ///< of each row
};

/// Carry the new tokens of all rows, one at least, through the layer, and put their keys
/// and values in the pages of their row.
///
/// With `attend`, all rows have their pages in one pool. If it is null, each row has one
/// page that holds all of its tokens.
template <class Scale>
void run_layer_rows(
    const LayerWeights<Scale>& w,
    const std::vector<LayerRow>& rows,
    AttendPages attend,
    const float* x,
    float* y) {
  const RowParts each(
      {w.cosines, w.sines, w.num_heads, w.num_kv_heads, w.head_dim}, rows);
  // What is done for all tokens alike asks for no cache.
  const LayerCache none{};
  const LayerParts<Scale> all{w, none, each.num_tokens()};

  const TokenVectors normed = all.normed(x, w.input_norm);
  const auto [query, key, value] = all.project(normed, w.query, w.key, w.value);
  all.add_bias(query, w.query_bias);
  all.add_bias(key, w.key_bias);
  all.add_bias(value, w.value_bias);
  each.remember(each.rotated(key), &LayerRow::keys);
  each.remember(value, &LayerRow::values);
  const TokenVectors turned = each.rotated(query);
  const TokenVectors seen =
      attend != nullptr ? each.attended(turned, attend) : each.attended(turned);
  const TokenVectors attended = all.project(seen, w.output);

  const auto [h, ready] = all.added_and_normed(x, attended, w.post_attention_norm);
  const auto [gate, up] = all.project(ready, w.gate, w.up);
  all.multiply(all.gated(gate, up), w.down, y);
  all.add(h, y);
}

}  // namespace tiny_llm
