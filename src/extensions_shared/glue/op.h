/// A kernel as an operation of MLX.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <mlx/array.h>
#include <mlx/primitives.h>

namespace tiny_llm {

/// What a kernel does once its inputs are there and its outputs have memory.
using Run = std::function<void(
    const std::vector<mlx::core::array>& inputs, std::vector<mlx::core::array>& outputs)>;

/// An input, and what the kernel calls it.
struct Input {
  std::string name;
  mlx::core::array array;
};

/// An output: what the kernel calls it, its shape and its dtype.
struct Output {
  std::string name;
  mlx::core::Shape shape;
  mlx::core::Dtype dtype;
};

/// Return arrays that `run` fills when they are evaluated, on the CPU.
///
/// Inputs whose entries do not lie in order are copied first. `run` is called on the
/// thread of MLX's CPU stream, and must not throw: what can be wrong is checked before.
/// Two exceptions: the first `run` of each name is called at once, on this thread, and
/// may throw that it is a stub. And if kernels are watched (see watched.h), each is, and
/// throws std::runtime_error where it writes to what is not its own.
///
/// Where there is nothing to be computed, `run` is not called.
std::vector<mlx::core::array> make_op(
    std::string name,
    const std::vector<Output>& outputs,
    const std::vector<Input>& inputs,
    Run run);

/// Like `make_op`, but hand over the inputs as they lie in memory, whatever that is.
///
/// `run` has to look at their strides, which are known only then. So a kernel can read
/// a slice of a longer array without a copy.
std::vector<mlx::core::array> make_strided_op(
    std::string name,
    const std::vector<Output>& outputs,
    const std::vector<Input>& inputs,
    Run run);

/// Tell whether the entries of an evaluated array lie in order, without gaps.
bool is_in_order(const mlx::core::array& x);

/// Return an evaluated array whose entries lie in order: `x`, or a copy of it, which the
/// stream fills before what is dispatched next, and keeps until all is done.
mlx::core::array in_order(const mlx::core::array& x, mlx::core::Stream stream);

/// Return the numbers of an array of integers, which is evaluated for that. Those that
/// have been, are int32 and lie in order are only copied: an operation takes some 70 us.
std::vector<std::int32_t> integers_of(mlx::core::array x);

/// Copy the entries of an array, whatever its strides, into one where they lie in order.
void copy_in_order(const mlx::core::array& from, mlx::core::array& to);

}  // namespace tiny_llm
