/// A quantised matrix times many vectors, in floats: the first rungs of a ladder.
///
///     y[t, o] = sum over i of w[o, i] * x[t, i]
///
/// x: L x I, w: O x I (see quantized_matrix.h), y: L x O, where L is `num_tokens`, 1 or
/// more. All are contiguous, and y overlaps neither of the others.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>

// What is not beside this file is in src/extensions_shared/kernels.
#include "kernels/numbers.h"
#include "kernels/quantized_matrix.h"
#include "kernels/wide.h"
#include "kernels/todo.h"

namespace tiny_llm {

/// One product after the other, as the formula says: each weight is unpacked L times.
template <class Scale>
void matmul_naive(
    const float* x, const QuantizedMatrix<Scale>& w, float* y, int num_tokens) {
  todo("week 2, day 5, task 1");
}

/// A block of the matrix after the other, unpacked once and used for all tokens.
template <class Scale>
void matmul_blocked(
    const float* x, const QuantizedMatrix<Scale>& w, float* y, int num_tokens) {
  todo("week 2, day 5, task 1");
}

}  // namespace tiny_llm
