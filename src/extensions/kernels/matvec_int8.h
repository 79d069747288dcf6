/// A quantised matrix times a vector that is rounded to 8 bits: the last two rungs.
///
///     y[o] = sum over groups g of  s[o, g] * x.scales[g] * dot[o, g]
///                                + b[o, g] * x.sums[g]
///     dot[o, g] = sum over the i of group g of q[o, i] * x.q[i],  in integers
///
/// x: I in 8 bits (see int8.h), for the group size and the bits of w. w: O x I (see
/// quantized_matrix.h). y: O. All are contiguous, and y overlaps neither. No group's
/// dot is above 255 * 127 * 128, which a float holds exactly.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

// What is not beside this file is in src/extensions_shared/kernels.
#include "kernels/instructions.h"
#include "kernels/int8.h"
#include "kernels/numbers.h"
#include "kernels/quantized_matrix.h"
#include "kernels/threads.h"
#include "kernels/todo.h"

namespace tiny_llm {

/// Compute the given rows, and touch no others.
template <class Scale>
void matvec_int8(
    const Int8Activations& x, const QuantizedMatrix<Scale>& w, float* y, Rows rows) {
  todo("week 2, day 4, task 3");
}

/// Compute all rows, shared among the threads of the process.
template <class Scale>
void matvec_threaded(
    const Int8Activations& x, const QuantizedMatrix<Scale>& w, float* y) {
  todo("week 2, day 4, task 4");
}

}  // namespace tiny_llm
