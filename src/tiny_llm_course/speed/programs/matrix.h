/// Matrices of 4 bits, more than any cache holds: as a model reads them for a token.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/quantized_matrix.h"
#include "serve.h"

namespace speed {

using Matrix = tiny_llm::QuantizedMatrix<float>;

/// Some matrices of one shape. Each call of `next` returns another one.
class Matrices {
 public:
  Matrices(int rows, int columns, int count)
      : rows_(rows), columns_(columns), count_(count) {
    words_.resize(size() / 8);
    scales_ = numbers(size() / 64);
    std::uint32_t state = 1;
    for (std::uint32_t& word : words_) word = state = state * 1664525u + 1013904223u;
  }

  Matrix next() {
    const std::size_t at = static_cast<std::size_t>(turn_++ % count_);
    const std::size_t numbers_each = size() / static_cast<std::size_t>(count_);
    const float* const scales = scales_.data() + at * (numbers_each / 64);
    return {words_.data() + at * (numbers_each / 8), scales, scales, rows_, columns_,
            64, 4};
  }

  /// The bytes of one: half a byte for a weight, and two floats for a group of 64.
  double bytes() const { return 0.625 * rows_ * columns_; }

 private:
  std::size_t size() const {
    return static_cast<std::size_t>(rows_) * static_cast<std::size_t>(columns_) *
           static_cast<std::size_t>(count_);
  }

  int rows_, columns_, count_, turn_ = 0;
  std::vector<std::uint32_t> words_;
  std::vector<float> scales_;
};

}  // namespace speed
