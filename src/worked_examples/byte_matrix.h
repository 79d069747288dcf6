/// A matrix of bytes times a vector: a ladder of five rungs, for Week 2, Day 4.
///
///     y[o] = scales[o] * sum over i of (q[o, i] - 128) * x[i]
///
/// It is a neighbour of the day's task, and no part of its solution: a weight is a whole
/// byte, a row has one scale, and 128 stands for zero. q: O x I, scales: O, x: I, y: O,
/// all contiguous. I is a multiple of 64. Each rung computes the rows that it is given.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "kernels/instructions.h"
#include "kernels/quantized_matrix.h"
#include "kernels/threads.h"

namespace worked {

using tiny_llm::Rows;

struct ByteMatrix {
  const std::uint8_t* q;  ///< O x I
  const float* scales;    ///< O
  int num_rows;           ///< O
  int num_columns;        ///< I, a multiple of 64

  const std::uint8_t* row(int o) const {
    return q + static_cast<std::ptrdiff_t>(o) * num_columns;
  }
};

constexpr int zero = 128;  // the byte that stands for zero

/// Rung 1, the control: the formula.
inline void rows_plain(const float* x, const ByteMatrix& w, float* y, Rows rows) {
  for (int o = rows.first; o < rows.last; ++o) {
    const std::uint8_t* q = w.row(o);
    float sum = 0;
    for (int i = 0; i < w.num_columns; ++i) {
      sum += static_cast<float>(q[i] - zero) * x[i];
    }
    y[o] = w.scales[o] * sum;
  }
}

/// Rung 2: four rows together, so four sums that do not wait for each other.
inline void rows_of_four(const float* x, const ByteMatrix& w, float* y, Rows rows) {
  int o = rows.first;
  for (; o + 4 <= rows.last; o += 4) {
    const std::uint8_t* q = w.row(o);
    const int next = w.num_columns;
    float a = 0, b = 0, c = 0, d = 0;
    for (int i = 0; i < w.num_columns; ++i) {
      a += static_cast<float>(q[i] - zero) * x[i];
      b += static_cast<float>(q[i + next] - zero) * x[i];
      c += static_cast<float>(q[i + 2 * next] - zero) * x[i];
      d += static_cast<float>(q[i + 3 * next] - zero) * x[i];
    }
    y[o] = w.scales[o] * a;
    y[o + 1] = w.scales[o + 1] * b;
    y[o + 2] = w.scales[o + 2] * c;
    y[o + 3] = w.scales[o + 3] * d;
  }
  rows_plain(x, w, y, Rows{o, rows.last});
}

/// Rung 3, a first try: four bytes become four floats in a register of 16 bytes.
inline void rows_converted(const float* x, const ByteMatrix& w, float* y, Rows rows) {
  using Bytes __attribute__((vector_size(4))) = std::uint8_t;
  using Integers __attribute__((vector_size(16))) = std::int32_t;
  using Floats __attribute__((vector_size(16))) = float;
  for (int o = rows.first; o < rows.last; ++o) {
    const std::uint8_t* q = w.row(o);
    Floats sums = {};
    for (int i = 0; i < w.num_columns; i += 4) {
      Bytes bytes;
      Floats numbers;
      std::memcpy(&bytes, q + i, sizeof(bytes));
      std::memcpy(&numbers, x + i, sizeof(numbers));
      const Integers integers = __builtin_convertvector(bytes, Integers) - zero;
      sums += __builtin_convertvector(integers, Floats) * numbers;
    }
    y[o] = w.scales[o] * (sums[0] + sums[1] + sums[2] + sums[3]);
  }
}

/// One row with 64 sums side by side. The compiler puts them into registers.
__attribute__((always_inline)) inline float row_in_lanes(
    const float* x, const std::uint8_t* q, int num_columns) {
  float sums[64] = {};
  for (int i = 0; i < num_columns; i += 64) {
    for (int lane = 0; lane < 64; ++lane) {
      sums[lane] += static_cast<float>(q[i + lane] - zero) * x[i + lane];
    }
  }
  for (int half = 32; half > 0; half /= 2) {
    for (int lane = 0; lane < half; ++lane) sums[lane] += sums[lane + half];
  }
  return sums[0];
}

/// Rung 3: lanes. Every processor of this kind has the registers that this needs.
inline void rows_in_lanes(const float* x, const ByteMatrix& w, float* y, Rows rows) {
  for (int o = rows.first; o < rows.last; ++o) {
    y[o] = w.scales[o] * row_in_lanes(x, w.row(o), w.num_columns);
  }
}

#if defined(__x86_64__)
/// Rung 4: the same lines for registers of 64 bytes, which not every processor has.
TINY_LLM_AVX512_VNNI inline void rows_in_wide_lanes(
    const float* x, const ByteMatrix& w, float* y, Rows rows) {
  for (int o = rows.first; o < rows.last; ++o) {
    y[o] = w.scales[o] * row_in_lanes(x, w.row(o), w.num_columns);
  }
}
#endif

/// x in bytes, of which 127 stands for the largest magnitude.
struct ByteVector {
  std::vector<std::int8_t> p;  ///< x[i] is about scale * p[i]
  float scale;
  int sum;  ///< of all p
};

inline ByteVector rounded(const float* x, int num_columns) {
  ByteVector to{std::vector<std::int8_t>(static_cast<std::size_t>(num_columns)), 0, 0};
  float largest = 0;
  for (int i = 0; i < num_columns; ++i) largest = std::max(largest, std::fabs(x[i]));
  to.scale = largest / 127;
  for (int i = 0; i < num_columns && largest > 0; ++i) {
    const auto p = static_cast<std::int8_t>(std::nearbyint(x[i] / to.scale));
    to.p[static_cast<std::size_t>(i)] = p;
    to.sum += p;
  }
  return to;
}

/// Rung 5, in plain C++: products of bytes, added up in integers.
///
///     sum over i of (q - 128) * p  =  sum of q * p  -  128 * sum of p
inline void rows_in_bytes(const ByteVector& x, const ByteMatrix& w, float* y, Rows rows) {
  for (int o = rows.first; o < rows.last; ++o) {
    const std::uint8_t* q = w.row(o);
    int dot = 0;
    for (int i = 0; i < w.num_columns; ++i) {
      dot += q[i] * x.p[static_cast<std::size_t>(i)];
    }
    y[o] = w.scales[o] * x.scale * static_cast<float>(dot - zero * x.sum);
  }
}

#if defined(__x86_64__)
/// Rung 5, with the instruction that is made for it: 64 products at a time.
TINY_LLM_AVX512_VNNI inline void rows_with_vnni(
    const ByteVector& x, const ByteMatrix& w, float* y, Rows rows) {
  for (int o = rows.first; o < rows.last; ++o) {
    const std::uint8_t* q = w.row(o);
    __m512i dots = _mm512_setzero_si512();
    for (int i = 0; i < w.num_columns; i += 64) {
      const __m512i weights = _mm512_loadu_si512(q + i);
      const __m512i numbers = _mm512_loadu_si512(x.p.data() + i);
      dots = _mm512_dpbusd_epi32(dots, weights, numbers);
    }
    const int dot = _mm512_reduce_add_epi32(dots) - zero * x.sum;
    y[o] = w.scales[o] * x.scale * static_cast<float>(dot);
  }
}
#endif

/// Rung 6: all cores. `rows_of` is a rung from above, `per_piece` the rows that a thread
/// takes at a time.
template <class RowsOf>
void rows_on_all_cores(const ByteMatrix& w, int per_piece, const RowsOf& rows_of) {
  const int num_pieces = (w.num_rows + per_piece - 1) / per_piece;
  tiny_llm::threads().run(num_pieces, [&](int piece) {
    const int first = piece * per_piece;
    rows_of(Rows{first, std::min(first + per_piece, w.num_rows)});
  });
}

}  // namespace worked
