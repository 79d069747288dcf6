/// What is asked of arrays before a pointer into them is taken.
#pragma once

#include <string>
#include <string_view>

#include <mlx/array.h>

namespace tiny_llm {

/// Write a shape as Python does: (3, 64).
std::string text_of(const mlx::core::Shape& shape);

/// Write a dtype as Python does: float32.
std::string text_of(mlx::core::Dtype dtype);

/// Fail with "<where>: expected <what>, got <value>" unless `holds`.
///
/// Throws std::invalid_argument, which is a ValueError in Python.
void expect(
    bool holds, std::string_view where, std::string_view what, const std::string& got);

/// Fail unless an array has float32, float16 or bfloat16.
void expect_floats(const mlx::core::array& x, std::string_view where);

/// Fail unless a shape is the expected one.
void expect_shape(
    const mlx::core::array& x,
    const mlx::core::Shape& shape,
    std::string_view where);

/// Fail unless the numbers of an array, and so its rows, can be counted in an int.
void expect_countable(const mlx::core::array& x, std::string_view where);

}  // namespace tiny_llm
