/// Buffers that an operation of MLX writes into, and hands on.
#pragma once

#include <mlx/array.h>

namespace tiny_llm {

/// Give `output` the memory of `input`, or memory of its own if other arrays look at it.
///
/// `is_donatable` is never true here: each of several outputs holds the inputs.
void take_over(const mlx::core::array& input, mlx::core::array& output);

/// Copy what `input` holds, if `output` has memory of its own.
void copy_if_moved(const mlx::core::array& input, mlx::core::array& output);

}  // namespace tiny_llm
