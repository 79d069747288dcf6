/// The arrays of a layer of the model, and what is asked of them.
#pragma once

#include <string_view>
#include <vector>

#include <mlx/array.h>

#include "glue/weight.h"

namespace tiny_llm::ops {

/// What a layer consists of, evaluated.
struct LayerArrays {
  std::vector<Weight> matrices;           ///< query, key, value, output, gate, up, down
  std::vector<mlx::core::array> vectors;  ///< three biases, then the gains of both norms
  int num_heads;
  float eps;
  double base;

  int hidden_size() const { return matrices[0].num_columns(); }
  int head_dim() const { return matrices[0].num_rows() / num_heads; }
  int num_kv_heads() const { return matrices[1].num_rows() / head_dim(); }
};

/// Fail unless the arrays fit together. Returns them evaluated and contiguous, and the
/// vectors in float32.
///
/// Throws std::invalid_argument, with `where` in front of what is wrong.
LayerArrays checked(LayerArrays arrays, std::string_view where);

}  // namespace tiny_llm::ops
