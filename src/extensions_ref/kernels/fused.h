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

namespace detail {

inline std::ptrdiff_t start_of(int row, int length) {
  return static_cast<std::ptrdiff_t>(row) * length;
}

/// Add up squares, in sums side by side that do not wait for each other.
TINY_LLM_INLINE inline float sum_of_squares(const float* x, int D) {
  // Four vectors of 16: an addition takes four cycles, and one begins in each.
  constexpr int num_sums = 64;
  float sums[num_sums] = {};
  int d = 0;
  for (; d + num_sums <= D; d += num_sums) {
    for (int lane = 0; lane < num_sums; ++lane) sums[lane] += x[d + lane] * x[d + lane];
  }
  float sum = 0;
  for (; d < D; ++d) sum += x[d] * x[d];
  for (int lane = 0; lane < num_sums; ++lane) sum += sums[lane];
  return sum;
}

TINY_LLM_INLINE inline void normalise_row(
    const float* __restrict x, const Norm& norm, float* __restrict y) {
  const float mean_square = sum_of_squares(x, norm.D) / static_cast<float>(norm.D);
  const float factor = 1 / std::sqrt(mean_square + norm.eps);
  for (int d = 0; d < norm.D; ++d) y[d] = x[d] * factor * norm.weight[d];
}

TINY_LLM_INLINE inline void add_rows(
    const float* __restrict x,
    const float* __restrict residual,
    float* __restrict sum,
    int D) {
  for (int d = 0; d < D; ++d) sum[d] = x[d] + residual[d];
}

TINY_LLM_INLINE inline void rotate(
    const float* __restrict x,
    const float* __restrict cosines,
    const float* __restrict sines,
    float* __restrict y,
    int half) {
  for (int i = 0; i < half; ++i) {
    const float a = x[i];
    const float b = x[i + half];
    y[i] = a * cosines[i] - b * sines[i];
    y[i + half] = b * cosines[i] + a * sines[i];
  }
}

TINY_LLM_INLINE inline void gate_row(
    const float* __restrict gate,
    const float* __restrict up,
    float* __restrict y,
    int length) {
  for (int i = 0; i < length; ++i) {
    y[i] = gate[i] / (1 + exponential(-gate[i])) * up[i];
  }
}

}  // namespace detail

/// Normalise rows.
///
/// x, y: rows x D. The weight is one for all rows.
inline void rms_norm(const float* x, const Norm& norm, float* y, Rows rows) {
  in_wide_vectors([=]() TINY_LLM_INLINE {
    for (int row = rows.first; row < rows.last; ++row) {
      const std::ptrdiff_t start = detail::start_of(row, norm.D);
      detail::normalise_row(x + start, norm, y + start);
    }
  });
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
  in_wide_vectors([=]() TINY_LLM_INLINE {
    for (int row = rows.first; row < rows.last; ++row) {
      const std::ptrdiff_t start = detail::start_of(row, norm.D);
      detail::add_rows(x + start, residual + start, sum + start, norm.D);
      detail::normalise_row(sum + start, norm, y + start);
    }
  });
}

/// Fill a table with the cosines and sines that positions are rotated by.
///
///     cosines[p, i] = cos(angle(p, i)),   angle(p, i) = p * base^(-2 i / D)
///
/// cosines, sines: positions x D / 2, of which the rows of `positions` are filled. The
/// angles, thousands of radians large, are computed in double, and rounded last.
inline void fill_rotations(
    double base, int D, Rows positions, float* cosines, float* sines) {
  const int half = D / 2;
  for (int i = 0; i < half; ++i) {
    const double frequency = std::pow(base, -2.0 * i / D);
    for (int position = positions.first; position < positions.last; ++position) {
      const std::ptrdiff_t place = detail::start_of(position, half) + i;
      cosines[place] = static_cast<float>(std::cos(position * frequency));
      sines[place] = static_cast<float>(std::sin(position * frequency));
    }
  }
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
  in_wide_vectors([=]() TINY_LLM_INLINE {
    const int half = heads.D / 2;
    for (int token = tokens.first; token < tokens.last; ++token) {
      const int position = heads.offset + token % heads.L;
      const std::ptrdiff_t angle = detail::start_of(position, half);
      for (int head = 0; head < heads.H; ++head) {
        const std::ptrdiff_t start = detail::start_of(token, heads.H * heads.D) +
                                     detail::start_of(head, heads.D);
        detail::rotate(x + start, cosines + angle, sines + angle, y + start, half);
      }
    }
  });
}

/// Open a gate for each number: silu(gate) * up.
///
/// gate, up, y: as many numbers as there are. Rows are single numbers.
inline void swiglu(const float* gate, const float* up, float* y, Rows numbers) {
  const std::ptrdiff_t start = numbers.first;
  const int length = numbers.last - numbers.first;
  in_wide_vectors([=]() TINY_LLM_INLINE {
    detail::gate_row(gate + start, up + start, y + start, length);
  });
}

}  // namespace tiny_llm
