/// What attention works on: queries, keys and values of many heads, and a mask.
#pragma once

#include <cstddef>

namespace tiny_llm {

/// Vectors of D numbers, one for each batch, head and position. They may lie apart, as
/// those of a cache with room for more do, but the numbers of each are side by side.
struct Heads {
  const float* data;
  std::ptrdiff_t batch;     ///< how many floats lead to the next one
  std::ptrdiff_t head;      ///< likewise
  std::ptrdiff_t position;  ///< likewise

  const float* at(int b, int h, int i) const {
    return data + b * batch + h * head + i * position;
  }
};

/// What is added to the scores. A stride is 0 where all share one number.
struct Mask {
  const float* data;  ///< null if nothing is added
  std::ptrdiff_t batch;
  std::ptrdiff_t head;
  std::ptrdiff_t query;
  std::ptrdiff_t key;

  const float* at(int b, int h, int i, int j) const {
    return data + b * batch + h * head + i * query + j * key;
  }
};

/// One call of attention. All sizes are 1 or more.
struct Attention {
  Heads query;       ///< B x H x L x D
  Heads key;         ///< B x H_kv x S x D
  Heads value;       ///< B x H_kv x S x D
  Mask mask;         ///< B x H x L x S
  bool is_causal;    ///< query i looks at keys up to and with i + S - L
  float scale;       ///< factor on the dot products
  float* output;     ///< B x H x L x D, contiguous
  int num_batches;   ///< B
  int num_heads;     ///< H, a multiple of H_kv
  int num_kv_heads;  ///< H_kv
  int num_queries;   ///< L
  int num_keys;      ///< S
  int width;         ///< D

  /// How many query heads share a key head: query head h reads key head h / group().
  int group() const { return num_heads / num_kv_heads; }

  /// How many keys query i may look at: the last query sees all.
  int keys_seen_by(int i) const {
    return is_causal ? num_keys - num_queries + i + 1 : num_keys;
  }

  float* output_at(int b, int h, int i) const {
    const auto row = (static_cast<std::ptrdiff_t>(b) * num_heads + h) * num_queries + i;
    return output + row * width;
  }
};

}  // namespace tiny_llm
