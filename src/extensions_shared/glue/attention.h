/// The ladder of attention, as operations of MLX.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include <mlx/array.h>
#include <nanobind/nanobind.h>

#include "kernels/heads.h"

namespace tiny_llm::ops {

/// A variant of attention: one of the functions of kernels/attention.h.
using Kernel = std::function<void(const Attention&)>;

/// Which keys a query may look at, and what is added to its scores.
struct Masking {
  bool is_causal;
  std::optional<mlx::core::array> added;
};

/// Attend with a kernel: y = softmax(query key^T * scale + mask) value.
///
/// query: B x H x L x D, key and value: B x H_kv x S x D, in float32, float16 or
/// bfloat16. The mask is added to the scores, and broadcasts to B x H x L x S. The
/// result has the shape and dtype of the query. Keys and values in float32 are read
/// where they lie, unless the numbers of a vector lie apart.
/// Throws std::invalid_argument where shapes or dtypes do not fit.
mlx::core::array attention(
    const std::string& name,
    const Kernel& kernel,
    const mlx::core::array& query,
    const mlx::core::array& key,
    const mlx::core::array& value,
    float scale,
    const Masking& masking);

}  // namespace tiny_llm::ops

namespace tiny_llm {

/// Make the variants of attention known to Python, by their names.
void bind_attention(nanobind::module_& module);

}  // namespace tiny_llm
