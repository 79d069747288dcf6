/// A layer of the model for the new tokens of one text: one kernel after the other.
///
///     h = x + attention(rms_norm(x), cache)
///     y = h + mlp(rms_norm(h))
///
/// x, y: L x E. The keys and values of the text stand in two buffers, H_kv x C x D, of
/// which `offset` places are taken and the next L are filled here. All is in float32
/// except the scales of the weights. Nothing overlaps, and L is at least 1.
#pragma once

// What is not beside this file is in src/extensions_shared/kernels.
#include "kernels/layer_parts.h"

namespace tiny_llm {

/// Carry the new tokens through the layer, and put their keys and values in the cache.
///
/// What a layer computes is in its parts: see `LayerParts`.
template <class Scale>
void run_layer(const LayerParts<Scale>& parts, const float* x, float* y) {
  const LayerWeights<Scale>& w = parts.weights;
  const LayerCache& cache = parts.cache;

  const TokenVectors normed = parts.normed(x, w.input_norm);
  const auto [query, key, value] = parts.project(normed, w.query, w.key, w.value);
  parts.add_bias(query, w.query_bias);
  parts.add_bias(key, w.key_bias);
  parts.add_bias(value, w.value_bias);
  const TokenVectors turned = parts.rotated(query, cache.offset);
  parts.remember(parts.rotated(key, cache.offset), cache.keys, cache.offset);
  parts.remember(value, cache.values, cache.offset);
  const TokenVectors seen = parts.attended(turned, cache.offset + parts.num_tokens);
  const TokenVectors attended = parts.project(seen, w.output);

  const auto [h, ready] = parts.added_and_normed(x, attended, w.post_attention_norm);
  const auto [gate, up] = parts.project(ready, w.gate, w.up);
  parts.multiply(parts.gated(gate, up), w.down, y);
  parts.add(h, y);
}

}  // namespace tiny_llm
