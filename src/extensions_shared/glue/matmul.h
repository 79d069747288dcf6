/// The ladder of products with many vectors, as operations of MLX.
#pragma once

#include <vector>

#include <mlx/array.h>
#include <nanobind/nanobind.h>

#include "glue/weight.h"

namespace tiny_llm::ops {

/// Multiply vectors: y[t] = w x[t].
///
/// x: L x I, in float32, float16 or bfloat16. The result is L x O and has the dtype of x.
/// Throws std::invalid_argument where x or w has a shape or dtype that does not fit.
mlx::core::array matmul_naive(const mlx::core::array& x, const Weight& w);
mlx::core::array matmul_blocked(const mlx::core::array& x, const Weight& w);
mlx::core::array matmul_int8(const mlx::core::array& x, const Weight& w);
mlx::core::array matmul_threaded(const mlx::core::array& x, const Weight& w);

/// Lay out 16 rows of w: integers (I / 4 x 16 x 4), scales and biases (groups x 16).
///
/// Throws std::invalid_argument where w has no row `first_row`, or is not a weight.
std::vector<mlx::core::array> pack_panel(const Weight& w, int first_row);

}  // namespace tiny_llm::ops

namespace tiny_llm {

/// Make the functions above known to Python.
void bind_matmul(nanobind::module_& module);

}  // namespace tiny_llm
