/// The ladder of matrix-vector products, as operations of MLX.
#pragma once

#include <string>

#include <mlx/array.h>
#include <nanobind/nanobind.h>

#include "glue/weight.h"

namespace tiny_llm::ops {

/// Multiply a vector: y = w x.
///
/// x: I, in float32, float16 or bfloat16. The result has O entries and the dtype of x.
/// Throws std::invalid_argument where x or w has a shape or dtype that does not fit.
mlx::core::array matvec_naive(const mlx::core::array& x, const Weight& w);
mlx::core::array matvec_blocked(const mlx::core::array& x, const Weight& w);
mlx::core::array matvec_simd(const mlx::core::array& x, const Weight& w);

/// Likewise, with x rounded to 8 bits in groups.
mlx::core::array matvec_int8(const mlx::core::array& x, const Weight& w);
mlx::core::array matvec_threaded(const mlx::core::array& x, const Weight& w);

}  // namespace tiny_llm::ops

namespace tiny_llm {

/// Make the functions above known to Python.
void bind_matvec(nanobind::module_& module);

}  // namespace tiny_llm
