/// The arrays of a layer, as the kernels see them.
#pragma once

#include <cstddef>

#include "glue/layer_arrays.h"
#include "glue/rotations.h"
#include "kernels/layer_parts.h"

namespace tiny_llm::ops {

/// Look at the arrays of a layer, and at a table for all positions that are rotated.
template <class Scale>
LayerWeights<Scale> weights_of(const LayerArrays& arrays, const Rotations& table) {
  const auto matrix = [&](std::size_t index) {
    const Weight& w = arrays.matrices[index];
    return matrix_of<Scale>(w.words, w.scales, w.biases, w.group_size, w.bits);
  };
  const auto vector = [&](std::size_t index) {
    return arrays.vectors[index].data<float>();
  };
  const auto norm = [&](std::size_t index) {
    return Norm{vector(index), arrays.eps, arrays.hidden_size()};
  };
  return {
      .query = matrix(0),
      .key = matrix(1),
      .value = matrix(2),
      .output = matrix(3),
      .gate = matrix(4),
      .up = matrix(5),
      .down = matrix(6),
      .query_bias = vector(0),
      .key_bias = vector(1),
      .value_bias = vector(2),
      .input_norm = norm(3),
      .post_attention_norm = norm(4),
      .cosines = table.cosines.data(),
      .sines = table.sines.data(),
      .num_heads = arrays.num_heads,
      .num_kv_heads = arrays.num_kv_heads(),
      .head_dim = arrays.head_dim()};
}

}  // namespace tiny_llm::ops
