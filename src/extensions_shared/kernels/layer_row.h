/// A row of a batch, as a layer of the model sees it: one text.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tiny_llm {

/// The new tokens of a text, and where its keys and values lie.
struct LayerRow {
  int num_tokens;             ///< L, 1 or more
  int offset;                 ///< how many tokens came before
  float* keys;                ///< N x H_kv x P x D
  float* values;              ///< likewise
  int page_size;              ///< P
  const std::int32_t* table;  ///< the pages of its tokens, with room for the new ones

  /// How many keys its last token sees.
  int num_keys() const { return offset + num_tokens; }

  /// How many vectors, of all heads, lie before those of a token in its page.
  std::ptrdiff_t place_of(int position, int kv_head, int num_kv_heads) const {
    const std::ptrdiff_t page = table[position / page_size];
    return (page * num_kv_heads + kv_head) * page_size + position % page_size;
  }
};

}  // namespace tiny_llm
