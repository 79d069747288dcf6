/// What stands between the products of a layer, each in one pass over memory.
///
///     rms_norm       y[d] = x[d] / sqrt(mean over d of x[d]^2 + eps) * weight[d]
///     add_rms_norm   sum = x + residual,   y = rms_norm(sum)
///     rope           (a, b) -> (a cos - b sin, b cos + a sin)
///     swiglu         y[i] = gate[i] / (1 + exp(-gate[i])) * up[i]
///
/// All arrays are contiguous and in float32, and what is written overlaps nothing that
/// is read. Each function computes the rows that it is given and touches no others.
/// Numbers whose squares leave the range of float32, from 1.8e19 on, are not handled.
#pragma once

#include <cmath>
#include <cstddef>

// What is not beside this file is in src/extensions_shared/kernels.
#include "kernels/exponential.h"
#include "kernels/quantized_matrix.h"
#include "kernels/wide.h"
#include "kernels/todo.h"

namespace tiny_llm {

/// What a norm has learned, and what it is given.
struct Norm {
  const float* weight;  ///< D: the gains
  float eps;            ///< added to the mean square, so in units of x squared
  int D;                ///< length of a row
};

/// Vectors of queries or keys, B x L x H x D, and where in the text they stand.
struct RotatedHeads {
  int L;       ///< tokens of a sequence
  int H;       ///< heads of a token
  int D;       ///< width of a head: even
  int offset;  ///< position of the first token of each sequence
};

/// Normalise rows.
///
/// x, y: rows x D. The weight is one for all rows.
inline void rms_norm(const float* x, const Norm& norm, float* y, Rows rows) {
  todo("week 2, day 7, task 1");
}

/// Add rows, and normalise each sum while it is still near.
///
/// x, residual, sum, y: rows x D. Both sum and y are results.
inline void add_rms_norm(
    const float* x,
    const float* residual,
    const Norm& norm,
    float* sum,
    float* y,
    Rows rows) {
  todo("week 2, day 7, task 1");
}

/// Fill a table with the cosines and sines that positions are rotated by.
///
///     cosines[p, i] = cos(angle(p, i)),   angle(p, i) = p * base^(-2 i / D)
///
/// cosines, sines: positions x D / 2, of which the rows of `positions` are filled. The
/// angles, thousands of radians large, are computed in double, and rounded last.
inline void fill_rotations(
    double base, int D, Rows positions, float* cosines, float* sines) {
  todo("week 2, day 7, task 2");
}

/// Rotate the pairs (x[i], x[i + D / 2]) of each head by the position of its token.
///
/// x, y: tokens x H x D, where the B sequences of L tokens follow each other.
/// cosines, sines: positions x D / 2, from position 0 on. Rows are tokens.
inline void rope(
    const float* x,
    const float* cosines,
    const float* sines,
    const RotatedHeads& heads,
    float* y,
    Rows tokens) {
  todo("week 2, day 7, task 2");
}

/// Open a gate for each number: silu(gate) * up.
///
/// gate, up, y: as many numbers as there are. Rows are single numbers.
inline void swiglu(const float* gate, const float* up, float* y, Rows numbers) {
  todo("week 2, day 7, task 3");
}

}  // namespace tiny_llm
