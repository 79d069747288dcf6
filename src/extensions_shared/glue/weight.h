/// A quantised matrix as arrays of MLX, and what is asked of it.
#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>
#include <vector>

#include <mlx/array.h>

#include "glue/op.h"
#include "kernels/numbers.h"
#include "kernels/quantized_matrix.h"

namespace tiny_llm {

/// A quantised matrix of O rows and I columns, as MLX stores it.
struct Weight {
  mlx::core::array words;   ///< uint32: O x (I * bits / 32)
  mlx::core::array scales;  ///< float32, float16 or bfloat16: O x (I / group_size)
  mlx::core::array biases;  ///< likewise
  int group_size;
  int bits;

  int num_rows() const { return words.shape(0); }
  int num_columns() const { return scales.shape(1) * group_size; }
};

/// Fail unless the arrays of a weight fit together.
///
/// Throws std::invalid_argument, with `where` in front of what is wrong.
void expect_weight(const Weight& w, std::string_view where);

/// The arrays of a weight, as inputs of an operation.
std::vector<Input> inputs_of(const Weight& w);

/// An input, and behind it the arrays of a weight.
std::vector<Input> with_matrix(const Input& first, const Weight& w);

/// Call `work` with an example of the type that scales of this dtype have.
template <class Work>
void with_scale_type(mlx::core::Dtype dtype, Work work) {
  if (dtype == mlx::core::float16) {
    work(Float16{});
  } else if (dtype == mlx::core::bfloat16) {
    work(BFloat16{});
  } else {
    work(float{});
  }
}

/// Look at three evaluated, contiguous arrays as a matrix.
template <class Scale>
QuantizedMatrix<Scale> matrix_of(
    const mlx::core::array& words,
    const mlx::core::array& scales,
    const mlx::core::array& biases,
    int group_size,
    int bits) {
  return {
      words.data<std::uint32_t>(),
      reinterpret_cast<const Scale*>(scales.data<std::byte>()),
      reinterpret_cast<const Scale*>(biases.data<std::byte>()),
      words.shape(0),
      scales.shape(1) * group_size,
      group_size,
      bits};
}

/// Return a matrix whose last rows are those of `w`, and so large that nobody can count
/// its bits in an int, as those of some models are. There is nothing before these rows.
///
/// Who does count its bits so reads far away, and crashes.
template <class Scale>
QuantizedMatrix<Scale> ending_in(const QuantizedMatrix<Scale>& w) {
  const std::int64_t row_bits = std::int64_t{w.num_columns} * w.bits;
  const std::int64_t before = (std::int64_t{1} << 31) / row_bits + 1;
  QuantizedMatrix<Scale> large = w;
  large.num_rows += static_cast<int>(before);
  large.words -= before * row_bits / 32;
  large.scales -= before * w.groups();
  large.biases -= before * w.groups();
  return large;
}

}  // namespace tiny_llm
