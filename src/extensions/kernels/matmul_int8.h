/// A quantised matrix times many vectors, in integers: packing, tiles, threads.
///
///     y[t, o] = sum over g of   scales[o, g] * scale[t, g] * dot[t, o, g]
///                             + biases[o, g] * sum[t, g]
///
/// Here x[t, i] ~ scale[t, g] * e[t, i], where e is what int8.h calls q, sum[t, g] is
/// scale[t, g] times the sum of e over the group, and dot[t, o, g] the sum of
/// q[o, i] * e[t, i] over it: of integers, so exact.
///
/// x: L x I, w: O x I (see quantized_matrix.h), y: L x O, where L is `num_tokens`. All
/// are contiguous, and y overlaps neither of the others. x must be finite.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <utility>

#if defined(__x86_64__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#include <immintrin.h>
#pragma GCC diagnostic pop
#endif

#include "kernels/buffer.h"
#include "kernels/instructions.h"
#include "kernels/int8.h"
#include "kernels/numbers.h"
#include "kernels/quantized_matrix.h"
#include "kernels/threads.h"
#include "kernels/todo.h"

namespace tiny_llm {

/// How many rows of the matrix make a panel: the 32-bit lanes of a 512-bit register.
constexpr int panel_rows = 16;

/// Some rows of a matrix, in the order in which a tile reads them. It owns no memory.
///
/// Four inputs of one output stand together, then those of the next. So 64 bytes are
/// four inputs of 16 outputs, which one instruction multiplies by four activations.
struct Panel {
  std::uint8_t* q;  ///< I / 4 x 16 x 4: inputs, outputs, inputs
  float* scales;    ///< I / group_size x 16
  float* biases;    ///< I / group_size x 16
};

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
