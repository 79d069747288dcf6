/// What stands between the products, as operations of MLX.
#pragma once

#include <utility>

#include <mlx/array.h>
#include <nanobind/nanobind.h>

namespace tiny_llm::ops {

/// Normalise rows: y = x / sqrt(mean(x^2 over D) + eps) * weight.
///
/// x: N.. x D, weight: D, each in float32, float16 or bfloat16. The result has shape
/// and dtype of x. Throws std::invalid_argument where a shape or dtype does not fit, as
/// all of these functions do.
mlx::core::array rms_norm(
    const mlx::core::array& x, const mlx::core::array& weight, float eps);

/// Add, and normalise the sum. Returns both, the sum first.
///
/// x, residual: N.. x D, of one dtype.
std::pair<mlx::core::array, mlx::core::array> add_rms_norm(
    const mlx::core::array& x,
    const mlx::core::array& residual,
    const mlx::core::array& weight,
    float eps);

/// Rotate the pairs (x[i], x[i + D / 2]) of tokens at offset, offset + 1 and so on.
///
/// x: B x L x H x D. The result has its shape and dtype.
mlx::core::array rope(const mlx::core::array& x, int offset, double base);

/// Open a gate: silu(gate) * up.
///
/// gate, up: N.. of one shape and dtype, and so is the result.
mlx::core::array swiglu(const mlx::core::array& gate, const mlx::core::array& up);

}  // namespace tiny_llm::ops

namespace tiny_llm {

/// Make the functions above known to Python.
void bind_fused(nanobind::module_& module);

}  // namespace tiny_llm
