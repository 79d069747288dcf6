/// A quantised matrix times a vector, in floats: three rungs of a ladder.
///
///     y[o] = sum over i of w[o, i] * x[i]
///
/// x: I, w: O x I (see quantized_matrix.h), y: O. All are contiguous, and y overlaps
/// neither. Each function computes the rows that it is given and touches no others.
#pragma once

#include "kernels/quantized_matrix.h"
#include "kernels/numbers.h"

namespace tiny_llm {

/// One weight after the other, as the formula says.
template <class Scale>
void matvec_naive(const float* x, const QuantizedMatrix<Scale>& w, float* y, Rows rows) {
  for (int o = rows.first; o < rows.last; ++o) {
    float sum = 0;
    for (int i = 0; i < w.num_columns; ++i) {
      const int group = i / w.group_size;
      const float scale = to_float(w.row_scales(o)[group]);
      const float bias = to_float(w.row_biases(o)[group]);
      sum += (scale * static_cast<float>(w.q(o, i)) + bias) * x[i];
    }
    y[o] = sum;
  }
}

}  // namespace tiny_llm
