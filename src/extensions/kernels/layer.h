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
#include "kernels/todo.h"

namespace tiny_llm {

/// Carry the new tokens through the layer, and put their keys and values in the cache.
///
/// What a layer computes is in its parts: see `LayerParts`.
template <class Scale>
void run_layer(const LayerParts<Scale>& parts, const float* x, float* y) {
  todo("week 2, day 7, task 5");
}

}  // namespace tiny_llm
