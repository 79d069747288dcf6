/// What attention works on where keys and values lie in pages: the pages, and rows.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tiny_llm {

/// The pages of a layer. A page has room for P neighbouring tokens of one row, and in it
/// the vectors of a head lie side by side: N x H_kv x P x D, contiguous.
struct Pages {
  const float* keys;
  const float* values;
  int num_kv_heads;  ///< H_kv
  int page_size;     ///< P
  int width;         ///< D

  /// Where the vector of a head stands, in keys and in values: so many floats after the
  /// first. That of the next slot is D floats further on.
  std::ptrdiff_t place(std::ptrdiff_t page, int kv_head, int slot) const {
    return ((page * num_kv_heads + kv_head) * page_size + slot) * width;
  }

  const float* key_at(int page, int kv_head, int slot) const {
    return keys + place(page, kv_head, slot);
  }

  const float* value_at(int page, int kv_head, int slot) const {
    return values + place(page, kv_head, slot);
  }
};

/// A row of a batch: one text, with its own pages and its own number of new tokens.
struct PagedRow {
  const float* query;         ///< H x L x D
  float* output;              ///< H x L x D
  const std::int32_t* table;  ///< the pages of its tokens, in the order of the text
  int num_queries;            ///< L, 1 or more: they are the last of the S tokens
  int num_keys;               ///< S: what lies in its last page after them is no key

  /// How many pages of the table are in use. What comes after them may be anything.
  int num_pages(int page_size) const { return (num_keys - 1) / page_size + 1; }
};

/// One call of attention to pages. All sizes are 1 or more.
struct PagedAttention {
  Pages pages;
  const PagedRow* rows;
  int num_rows;
  /// How many floats lead from a head to the next, and from a new token to the next, in
  /// queries and outputs of all rows. The D numbers of each are side by side.
  std::ptrdiff_t head;
  std::ptrdiff_t position;
  int num_heads;   ///< H, a multiple of H_kv
  bool is_causal;  ///< query i looks at keys up to and with i + S - L of its row
  float scale;     ///< factor on the dot products

  /// How many query heads share a key head: query head h reads key head h / group().
  int group() const { return num_heads / pages.num_kv_heads; }

  /// How many keys query i of a row may look at: the last query sees all.
  int keys_seen_by(const PagedRow& row, int i) const {
    return is_causal ? row.num_keys - row.num_queries + i + 1 : row.num_keys;
  }

  const float* query_at(const PagedRow& row, int h, int i) const {
    return row.query + h * head + i * position;
  }

  float* output_at(const PagedRow& row, int h, int i) const {
    return row.output + h * head + i * position;
  }
};

}  // namespace tiny_llm
