/// A layer of the model for the new tokens of one text: the kernels, one after the other.
///
///     h = x + attention(rms_norm(x), cache)
///     y = h + mlp(rms_norm(h))
///
/// x, y: L x E. The keys and values of the text stand in two buffers, H_kv x C x D, of
/// which `offset` places are taken and the next L are filled here. All is in float32 but
/// the scales of the weights. Nothing overlaps, and L is at least 1.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "kernels/attention.h"
#include "kernels/fused.h"
#include "kernels/int8.h"
#include "kernels/matmul_int8.h"
#include "kernels/matvec_int8.h"
#include "kernels/quantized_matrix.h"
#include "kernels/threads.h"

namespace tiny_llm {

/// The weights of a layer, and its sizes.
template <class Scale>
struct LayerWeights {
  QuantizedMatrix<Scale> query;   ///< H * D x E
  QuantizedMatrix<Scale> key;     ///< H_kv * D x E
  QuantizedMatrix<Scale> value;   ///< H_kv * D x E
  QuantizedMatrix<Scale> output;  ///< E x H * D
  QuantizedMatrix<Scale> gate;    ///< I x E
  QuantizedMatrix<Scale> up;      ///< I x E
  QuantizedMatrix<Scale> down;    ///< E x I
  const float* query_bias;
  const float* key_bias;
  const float* value_bias;
  Norm input_norm;
  Norm post_attention_norm;
  const float* cosines;  ///< P x D / 2
  const float* sines;    ///< P x D / 2
  int num_heads;         ///< H
  int num_kv_heads;      ///< H_kv
  int head_dim;          ///< D
};

/// The keys and values of a text, and how many tokens came before.
struct LayerCache {
  float* keys;
  float* values;
  int capacity;  ///< C
  int offset;
};

/// A layer at work on L tokens.
template <class Scale>
class LayerRun {
 public:
  LayerRun(const LayerWeights<Scale>& weights, const LayerCache& cache, int num_tokens)
      : w_(weights), cache_(cache), L_(num_tokens) {}

  void operator()(const float* x, float* y) const {
    const Memory normed = rows_of(hidden());
    share_rows(L_, hidden(), [&](Rows rows) {
      rms_norm(x, w_.input_norm, normed.get(), rows);
    });
    const Memory attended = attend(normed.get());
    const Memory h = rows_of(hidden());
    share_rows(L_, hidden(), [&](Rows rows) {
      add_rms_norm(
          x, attended.get(), w_.post_attention_norm, h.get(), normed.get(), rows);
    });
    feed_forward(normed.get(), y);
    add_to(y, h.get(), hidden());
  }

 private:
  using Memory = std::unique_ptr<float[]>;

  int hidden() const { return w_.output.num_rows; }

  Memory rows_of(int length) const {
    return std::make_unique_for_overwrite<float[]>(
        static_cast<std::size_t>(L_) * static_cast<std::size_t>(length));
  }

  /// Multiply each token by a matrix.
  Memory project(const float* x, const QuantizedMatrix<Scale>& w) const {
    Memory y = rows_of(w.num_rows);
    multiply(x, w, y.get());
    return y;
  }

  /// Multiply each token by several matrices.
  template <std::size_t count>
  std::array<Memory, count> project(
      const float* x, const std::array<const QuantizedMatrix<Scale>*, count>& all) const {
    std::array<Memory, count> y;
    for (std::size_t i = 0; i < count; ++i) y[i] = rows_of(all[i]->num_rows);
    const auto is_like_first = [&](const QuantizedMatrix<Scale>* w) {
      return w->bits == all[0]->bits && w->group_size == all[0]->group_size;
    };
    if (L_ == 1 && std::all_of(all.begin(), all.end(), is_like_first)) {
      multiply_one(x, all, y);
    } else {
      for (std::size_t i = 0; i < count; ++i) multiply(x, *all[i], y[i].get());
    }
    return y;
  }

  /// Multiply one token in a single round of the threads, which wait for each other once.
  template <std::size_t count>
  void multiply_one(
      const float* x, const std::array<const QuantizedMatrix<Scale>*, count>& all,
      const std::array<Memory, count>& y) const {
    Int8Buffer buffer;
    const Int8Activations rounded =
        buffer.round(x, all[0]->num_columns, all[0]->group_size, all[0]->bits);
    // Two for each thread: together with those of the other matrices it is enough.
    const int num_pieces = 2 * threads().size();
    threads().run(static_cast<int>(count) * num_pieces, [&](int number) {
      const auto i = static_cast<std::size_t>(number / num_pieces);
      const std::int64_t piece = number % num_pieces;
      const int first = static_cast<int>(all[i]->num_rows * piece / num_pieces);
      const int last = static_cast<int>(all[i]->num_rows * (piece + 1) / num_pieces);
      matvec_int8(rounded, *all[i], y[i].get(), Rows{first, last});
    });
  }

  void multiply(const float* x, const QuantizedMatrix<Scale>& w, float* y) const {
    if (L_ == 1) {
      Int8Buffer buffer;
      matvec_threaded(buffer.round(x, w.num_columns, w.group_size, w.bits), w, y);
    } else {
      matmul_threaded(x, w, y, L_);
    }
  }

  void add_bias(float* y, const float* bias, int length) const {
    for (int token = 0; token < L_; ++token) {
      float* const row = y + static_cast<std::ptrdiff_t>(token) * length;
      for (int o = 0; o < length; ++o) row[o] += bias[o];
    }
  }

  Memory rotated(const float* x, int num_heads) const {
    Memory y = rows_of(num_heads * w_.head_dim);
    const RotatedHeads heads{L_, num_heads, w_.head_dim, cache_.offset};
    share_rows(L_, num_heads * w_.head_dim, [&](Rows tokens) {
      rope(x, w_.cosines, w_.sines, heads, y.get(), tokens);
    });
    return y;
  }

  Memory attend(const float* x) const {
    const auto [query, key, value] = project<3>(x, {&w_.query, &w_.key, &w_.value});
    add_bias(query.get(), w_.query_bias, w_.query.num_rows);
    add_bias(key.get(), w_.key_bias, w_.key.num_rows);
    add_bias(value.get(), w_.value_bias, w_.value.num_rows);
    const Memory turned = rotated(query.get(), w_.num_heads);
    remember(rotated(key.get(), w_.num_kv_heads).get(), cache_.keys);
    remember(value.get(), cache_.values);
    const Memory heads = rows_of(w_.query.num_rows);
    look_up(turned.get(), heads.get());
    return project(side_by_side(heads).get(), w_.output);
  }

  /// Put the vectors of the new tokens, L x H_kv x D, into their places in the cache.
  void remember(const float* x, float* buffer) const {
    for (int token = 0; token < L_; ++token) {
      for (int head = 0; head < w_.num_kv_heads; ++head) {
        const std::ptrdiff_t place =
            static_cast<std::ptrdiff_t>(head) * cache_.capacity + cache_.offset + token;
        std::copy_n(x, w_.head_dim, buffer + place * w_.head_dim);
        x += w_.head_dim;
      }
    }
  }

  /// Let the queries, L x H x D, attend to what is in the cache.
  void look_up(const float* query, float* heads) const {
    const std::ptrdiff_t D = w_.head_dim;
    const Heads kept{cache_.keys, 0, cache_.capacity * D, D};
    const Heads values{cache_.values, 0, cache_.capacity * D, D};
    const Attention attention{
        .query = {query, 0, D, w_.num_heads * D},
        .key = kept,
        .value = values,
        .mask = {},
        .is_causal = true,
        .scale = 1 / std::sqrt(static_cast<float>(D)),
        .output = heads,
        .num_batches = 1,
        .num_heads = w_.num_heads,
        .num_kv_heads = w_.num_kv_heads,
        .num_queries = L_,
        .num_keys = cache_.offset + L_,
        .width = w_.head_dim};
    // Few queries leave most cores idle, unless these share the keys.
    if (L_ < 16) {
      attention_split(attention);
    } else {
      attention_tiled(attention);
    }
  }

  /// Turn the results of the heads, H x L x D, into one vector for each token.
  Memory side_by_side(const Memory& heads) const {
    const std::ptrdiff_t D = w_.head_dim;
    Memory y = rows_of(w_.query.num_rows);
    share_rows(L_, w_.query.num_rows, [&](Rows tokens) {
      for (std::ptrdiff_t token = tokens.first; token < tokens.last; ++token) {
        for (std::ptrdiff_t head = 0; head < w_.num_heads; ++head) {
          std::copy_n(
              heads.get() + (head * L_ + token) * D, D,
              y.get() + (token * w_.num_heads + head) * D);
        }
      }
    });
    return y;
  }

  void feed_forward(const float* x, float* y) const {
    const auto [gate, up] = project<2>(x, {&w_.gate, &w_.up});
    const Memory opened = rows_of(w_.gate.num_rows);
    const std::ptrdiff_t I = w_.gate.num_rows;
    share_rows(L_, I, [&](Rows tokens) {
      // One by one: of a long text, all numbers together are more than an int counts.
      for (std::ptrdiff_t token = tokens.first; token < tokens.last; ++token) {
        const std::ptrdiff_t at = token * I;
        swiglu(
            gate.get() + at, up.get() + at, opened.get() + at, {0, w_.gate.num_rows});
      }
    });
    multiply(opened.get(), w_.down, y);
  }

  void add_to(float* y, const float* h, int length) const {
    const std::ptrdiff_t count = std::ptrdiff_t{L_} * length;
    for (std::ptrdiff_t i = 0; i < count; ++i) y[i] += h[i];
  }

  const LayerWeights<Scale>& w_;
  const LayerCache& cache_;
  int L_;
};

}  // namespace tiny_llm
