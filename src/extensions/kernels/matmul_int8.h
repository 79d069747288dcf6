/// A quantised matrix times many vectors, in integers: packing, tiles, threads.
///
///     y[t, o] = sum over g of   scales[o, g] * scale[t, g] * dot[t, o, g]
///                             + biases[o, g] * sum[t, g]
///
/// Here x[t, i] ~ scale[t, g] * e[t, i], where e is what int8.h calls q, sum[t, g] is
/// scale[t, g] times the sum of e over the group, and dot[t, o, g] the sum of
/// q[o, i] * e[t, i] over it: of integers, so exact.
///
/// x: L x I, w: O x I (see quantized_matrix.h), y: L x O, where L is `num_tokens`, 1 or
/// more. All are contiguous, and y overlaps neither of the others. x must be finite.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

// What is not beside this file is in src/extensions_shared/kernels.
#include "kernels/buffer.h"
#include "kernels/int8.h"
#include "kernels/numbers.h"
#include "kernels/panel.h"
#include "kernels/quantized_matrix.h"
#include "kernels/threads.h"
#include "kernels/todo.h"

namespace tiny_llm {

/// Lay out the 16 rows from `first_row` on as a panel.
///
///     panel.q[(k * 16 + r) * 4 + j] = q[first_row + r, the column at place 4 * k + j]
///     panel.scales[g * 16 + r] = scales[first_row + r, g],   likewise the biases
///
/// Columns come in the order of int8.h: block by block, and with 4 bits the even
/// columns of a block before its odd ones. If the matrix ends before the panel does,
/// anything may stand in the rows that it lacks.
template <class Scale>
void pack_panel(const QuantizedMatrix<Scale>& w, int first_row, const Panel& panel) {
  todo("week 2, day 5, task 2");
}

/// Tiles in registers, one after the other.
template <class Scale>
void matmul_int8(
    const float* x, const QuantizedMatrix<Scale>& w, float* y, int num_tokens) {
  todo("week 2, day 5, task 3");
}

/// The same on all cores: they share first the tokens, then the panels.
template <class Scale>
void matmul_threaded(
    const float* x, const QuantizedMatrix<Scale>& w, float* y, int num_tokens) {
  todo("week 2, day 5, task 4");
}

}  // namespace tiny_llm
