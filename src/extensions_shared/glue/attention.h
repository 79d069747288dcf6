/// The ladder of attention, as operations of MLX.
#pragma once

#include <optional>
#include <string>

#include <mlx/array.h>
#include <nanobind/nanobind.h>

namespace tiny_llm::ops {

/// Attend: y = softmax(query key^T * scale + mask) value.
///
/// query: B x H x L x D, key and value: B x H_kv x S x D, in float32, float16 or
/// bfloat16. The mask is added to the scores, and broadcasts to B x H x L x S. The
/// result has the shape and dtype of the query. Keys and values in float32 are read
/// where they lie, unless the numbers of a vector lie apart.
/// Throws std::invalid_argument where shapes or dtypes do not fit.
mlx::core::array attention_online(
    const mlx::core::array& query,
    const mlx::core::array& key,
    const mlx::core::array& value,
    float scale,
    bool is_causal,
    const std::optional<mlx::core::array>& mask);

/// Likewise, with tiles of keys and on all cores.
mlx::core::array attention_tiled(
    const mlx::core::array& query,
    const mlx::core::array& key,
    const mlx::core::array& value,
    float scale,
    bool is_causal,
    const std::optional<mlx::core::array>& mask);

/// Likewise, with the keys in pieces: for few queries.
mlx::core::array attention_split(
    const mlx::core::array& query,
    const mlx::core::array& key,
    const mlx::core::array& value,
    float scale,
    bool is_causal,
    const std::optional<mlx::core::array>& mask);

}  // namespace tiny_llm::ops

namespace tiny_llm {

/// Make the functions above known to Python.
void bind_attention(nanobind::module_& module);

}  // namespace tiny_llm
