/// A layer of the model for the new tokens of several texts, as one operation of MLX.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include <mlx/array.h>
#include <nanobind/nanobind.h>

#include "glue/layer_arrays.h"

namespace tiny_llm::ops {

/// The new tokens of each row: how many, and how many came before.
struct NewTokens {
  std::vector<int> lengths;
  std::vector<int> offsets;
};

/// Arrays that keys and values are written into: of each row, or pages of all rows.
struct KeysAndValues {
  std::vector<mlx::core::array> keys;
  std::vector<mlx::core::array> values;
  /// Which pages a row has, rows x M of int32. What is behind those in use may be
  /// anything. Without pages, none.
  std::optional<mlx::core::array> table;
};

/// A layer: see `LayerRows` in layer_rows.py.
class LayerRows {
 public:
  /// Throws std::invalid_argument where the arrays do not fit together, and Unsolved if
  /// a kernel that it calls is a stub.
  ///
  /// With `in_pages`, all rows share a pool of pages. Otherwise each has buffers.
  LayerRows(LayerArrays arrays, bool in_pages);

  /// Return the stream behind the layer, then the keys, then the values, with the new
  /// tokens in them.
  ///
  /// x: 1 x T x E, the new tokens of one row after those of another. Buffers: for each
  /// row 1 x H_kv x C x D. Pages: N x H_kv x P x D. All are float32, and written in place
  /// unless others look at a part of them. Throws std::invalid_argument where something does not fit.
  std::vector<mlx::core::array> operator()(
      const mlx::core::array& x, NewTokens tokens, const KeysAndValues& cache) const;

 private:
  std::shared_ptr<const LayerArrays> arrays_;
  bool in_pages_;
};

}  // namespace tiny_llm::ops

namespace tiny_llm {

/// Make the class above known to Python.
void bind_layer_rows(nanobind::module_& module);

}  // namespace tiny_llm
