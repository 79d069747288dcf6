/// The parts of a layer of the model: each kernel, called for all new tokens of a text.
///
/// Vectors are the rows of a matrix, L x length, contiguous and in float32. A part
/// makes the vectors that it returns, and changes none that it is given, except where it
/// says so. Which part follows which is in layer.h.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "kernels/attention.h"
#include "kernels/buffer.h"
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

/// A vector for each new token, in memory of their own.
class TokenVectors {
 public:
  TokenVectors() = default;
  TokenVectors(int num_tokens, int length)
      : length_(length), numbers_(std::ptrdiff_t{num_tokens} * length) {}

  float* data() const { return numbers_.data(); }
  int length() const { return length_; }

 private:
  int length_ = 0;
  Buffer<float> numbers_;
};

/// A layer at work on L tokens of one text.
template <class Scale>
class LayerParts {
 public:
  const LayerWeights<Scale>& weights;
  const LayerCache& cache;
  int num_tokens;  ///< L, 1 or more

  /// Normalise x, L x E.
  TokenVectors normed(const float* x, const Norm& norm) const {
    TokenVectors y = vectors(norm.D);
    share_rows(num_tokens, norm.D, [&](Rows rows) {
      rms_norm(x, norm, y.data(), rows);
    });
    return y;
  }

  /// Add `more` to x, L x E. Returns the sum, and the normed sum.
  std::pair<TokenVectors, TokenVectors> added_and_normed(
      const float* x, const TokenVectors& more, const Norm& norm) const {
    TokenVectors sum = vectors(norm.D), y = vectors(norm.D);
    share_rows(num_tokens, norm.D, [&](Rows rows) {
      add_rms_norm(x, more.data(), norm, sum.data(), y.data(), rows);
    });
    return {std::move(sum), std::move(y)};
  }

  /// Multiply each vector by a matrix.
  TokenVectors project(const TokenVectors& x, const QuantizedMatrix<Scale>& w) const {
    TokenVectors y = vectors(w.num_rows);
    multiply(x, w, y.data());
    return y;
  }

  /// Multiply each vector by several matrices. Returns the products in this order.
  template <class... Matrices>
  auto project(
      const TokenVectors& x,
      const QuantizedMatrix<Scale>& w,
      const Matrices&... others) const {
    const std::array all{&w, &others...};
    std::array<TokenVectors, 1 + sizeof...(others)> y;
    for (std::size_t i = 0; i < all.size(); ++i) y[i] = vectors(all[i]->num_rows);
    const auto is_like_first = [&](const QuantizedMatrix<Scale>* one) {
      return one->bits == w.bits && one->group_size == w.group_size;
    };
    if (num_tokens == 1 && std::all_of(all.begin(), all.end(), is_like_first)) {
      multiply_one(x, all, y);
    } else {
      for (std::size_t i = 0; i < all.size(); ++i) multiply(x, *all[i], y[i].data());
    }
    return y;
  }

  /// Multiply each vector by a matrix, into y: L x O.
  void multiply(
      const TokenVectors& x, const QuantizedMatrix<Scale>& w, float* y) const {
    if (num_tokens == 1) {
      Int8Buffer buffer;
      const Int8Activations rounded =
          buffer.round(x.data(), w.num_columns, w.group_size, w.bits);
      matvec_threaded(rounded, w, y);
    } else {
      matmul_threaded(x.data(), w, y, num_tokens);
    }
  }

  /// Add a bias to each vector, in place.
  void add_bias(const TokenVectors& y, const float* bias) const {
    share_rows(num_tokens, y.length(), [&](Rows tokens) {
      for (int token = tokens.first; token < tokens.last; ++token) {
        float* const row = y.data() + std::ptrdiff_t{token} * y.length();
        for (int o = 0; o < y.length(); ++o) row[o] += bias[o];
      }
    });
  }

  /// Rotate the heads of each token, of which the first stands at position `offset`.
  TokenVectors rotated(const TokenVectors& x, int offset) const {
    TokenVectors y = vectors(x.length());
    const int D = weights.head_dim;
    const RotatedHeads heads{num_tokens, x.length() / D, D, offset};
    share_rows(num_tokens, x.length(), [&](Rows tokens) {
      rope(x.data(), weights.cosines, weights.sines, heads, y.data(), tokens);
    });
    return y;
  }

  /// Put vectors into a buffer of the cache, H_kv x C x D, from place `offset` on.
  void remember(const TokenVectors& x, float* buffer, int offset) const {
    const float* from = x.data();
    for (int token = 0; token < num_tokens; ++token) {
      for (int head = 0; head < weights.num_kv_heads; ++head) {
        const std::ptrdiff_t place =
            static_cast<std::ptrdiff_t>(head) * cache.capacity + offset + token;
        std::copy_n(from, weights.head_dim, buffer + place * weights.head_dim);
        from += weights.head_dim;
      }
    }
  }

  /// Let queries attend to the first `num_keys` tokens in the cache, the last query to
  /// all of them, and each one before it to one less.
  TokenVectors attended(const TokenVectors& query, int num_keys) const {
    const TokenVectors heads = vectors(query.length());
    const Attention attention = attention_of(query, num_keys, heads);
    // Few queries leave most cores idle, unless these share the keys.
    if (num_tokens < 16) {
      attention_split(attention);
    } else {
      attention_tiled(attention);
    }
    return side_by_side(heads);
  }

  /// Let `up` through a gate.
  TokenVectors gated(const TokenVectors& gate, const TokenVectors& up) const {
    TokenVectors y = vectors(gate.length());
    share_rows(num_tokens, gate.length(), [&](Rows tokens) {
      // One by one: of a long text, all numbers together are more than an int counts.
      for (std::ptrdiff_t token = tokens.first; token < tokens.last; ++token) {
        const std::ptrdiff_t at = token * gate.length();
        swiglu(gate.data() + at, up.data() + at, y.data() + at, {0, gate.length()});
      }
    });
    return y;
  }

  /// Add vectors to y, in place.
  void add(const TokenVectors& more, float* y) const {
    share_rows(num_tokens, more.length(), [&](Rows tokens) {
      const std::ptrdiff_t first = std::ptrdiff_t{tokens.first} * more.length();
      const std::ptrdiff_t last = std::ptrdiff_t{tokens.last} * more.length();
      for (std::ptrdiff_t i = first; i < last; ++i) y[i] += more.data()[i];
    });
  }

 private:
  TokenVectors vectors(int length) const { return {num_tokens, length}; }

  /// Multiply one token in a single round of the threads: they wait for each other once.
  template <std::size_t count>
  void multiply_one(
      const TokenVectors& x,
      const std::array<const QuantizedMatrix<Scale>*, count>& all,
      const std::array<TokenVectors, count>& y) const {
    Int8Buffer buffer;
    const Int8Activations rounded =
        buffer.round(x.data(), all[0]->num_columns, all[0]->group_size, all[0]->bits);
    // One for each thread: together with those of the other matrices it is enough.
    const int num_pieces = threads().size();
    threads().run(static_cast<int>(count) * num_pieces, [&](int number) {
      const auto i = static_cast<std::size_t>(number / num_pieces);
      const std::int64_t piece = number % num_pieces;
      const int first = static_cast<int>(all[i]->num_rows * piece / num_pieces);
      const int last = static_cast<int>(all[i]->num_rows * (piece + 1) / num_pieces);
      matvec_int8(rounded, *all[i], y[i].data(), Rows{first, last});
    });
  }

  /// Describe the attention of queries, L x H x D, to what is in the cache.
  Attention attention_of(
      const TokenVectors& query, int num_keys, const TokenVectors& heads) const {
    const std::ptrdiff_t D = weights.head_dim;
    return {
        .query = {query.data(), 0, D, weights.num_heads * D},
        .key = {cache.keys, 0, cache.capacity * D, D},
        .value = {cache.values, 0, cache.capacity * D, D},
        .mask = {},
        .is_causal = true,
        .scale = 1 / std::sqrt(static_cast<float>(D)),
        .output = heads.data(),
        .num_batches = 1,
        .num_heads = weights.num_heads,
        .num_kv_heads = weights.num_kv_heads,
        .num_queries = num_tokens,
        .num_keys = num_keys,
        .width = weights.head_dim};
  }

  /// Turn the results of the heads, H x L x D, into one vector for each token.
  TokenVectors side_by_side(const TokenVectors& heads) const {
    const std::ptrdiff_t D = weights.head_dim;
    TokenVectors y = vectors(heads.length());
    share_rows(num_tokens, heads.length(), [&](Rows tokens) {
      for (std::ptrdiff_t token = tokens.first; token < tokens.last; ++token) {
        for (std::ptrdiff_t head = 0; head < weights.num_heads; ++head) {
          std::copy_n(
              heads.data() + (head * num_tokens + token) * D, D,
              y.data() + (token * weights.num_heads + head) * D);
        }
      }
    });
    return y;
  }
};

}  // namespace tiny_llm
