/// A whole layer of the model as one operation of MLX.
#pragma once

#include <memory>
#include <vector>

#include <mlx/array.h>
#include <nanobind/nanobind.h>

#include "glue/layer_arrays.h"

namespace tiny_llm::ops {

/// A layer: see `Layer` in kernels.py.
class Layer {
 public:
  /// Throws std::invalid_argument where the arrays do not fit together, and Unsolved if
  /// `run_layer` or something that it calls is a stub.
  explicit Layer(LayerArrays arrays);

  /// Return the stream behind the layer, and both buffers with the new tokens in them.
  ///
  /// x: 1 x L x E, keys and values: 1 x H_kv x C x D, all in float32. The buffers hold
  /// `offset` tokens. Throws std::invalid_argument where something does not fit.
  std::vector<mlx::core::array> operator()(
      const mlx::core::array& x,
      const mlx::core::array& keys,
      const mlx::core::array& values,
      int offset) const;

 private:
  std::shared_ptr<const LayerArrays> arrays_;
};

}  // namespace tiny_llm::ops

namespace tiny_llm {

/// Make the class above known to Python.
void bind_layer(nanobind::module_& module);

}  // namespace tiny_llm
