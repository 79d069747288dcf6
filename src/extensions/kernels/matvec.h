/// A quantised matrix times a vector, in floats: three rungs of a ladder.
///
///     y[o] = sum over i of w[o, i] * x[i]
///
/// x: I, w: O x I (see quantized_matrix.h), y: O. All are contiguous, and y overlaps
/// neither. Each function computes the rows that it is given and touches no others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

// What is not beside this file is in src/extensions_shared/kernels.
#include "kernels/numbers.h"
#include "kernels/quantized_matrix.h"
#include "kernels/wide.h"
#include "kernels/todo.h"

namespace tiny_llm {

/// One weight after the other, as the formula says.
template <class Scale>
void matvec_naive(const float* x, const QuantizedMatrix<Scale>& w, float* y, Rows rows) {
  todo("week 2, day 4, task 1");
}

/// A word, a scale and a bias at a time, and a few rows together.
///
///     y[o] = sum over groups g of  scale[o, g] * sum(q * x) + bias[o, g] * sum(x)
template <class Scale>
void matvec_blocked(
    const float* x, const QuantizedMatrix<Scale>& w, float* y, Rows rows) {
  todo("week 2, day 4, task 1");
}

/// The same sums, with vectors of the compiler: several weights in one instruction.
template <class Scale>
void matvec_simd(const float* x, const QuantizedMatrix<Scale>& w, float* y, Rows rows) {
  todo("week 2, day 4, task 2");
}

}  // namespace tiny_llm
