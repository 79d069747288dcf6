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

namespace tiny_llm {

namespace detail {

/// The sum of x over each group: what the biases of all rows are multiplied by.
inline std::vector<float> group_sums(const float* x, int groups, int group_size) {
  std::vector<float> sums(static_cast<std::size_t>(groups));
  for (float& sum : sums) {
    for (int i = 0; i < group_size; ++i) sum += x[i];
    x += group_size;
  }
  return sums;
}

/// The integers of a group times x, for `num_rows` rows from `o` on.
///
/// A number of x is loaded once for all of them, a word of weights once for all that it
/// holds.
template <int bits, int num_rows, class Scale>
void dot_words(
    const float* x, const QuantizedMatrix<Scale>& w, int o, int group, float* dots) {
  constexpr int per_word = 32 / bits;
  const int words = w.group_size / per_word;
  for (int row = 0; row < num_rows; ++row) dots[row] = 0;
  for (int word = group * words; word < (group + 1) * words; ++word) {
    for (int row = 0; row < num_rows; ++row) {
      std::uint32_t rest = w.row(o + row)[word];
      for (int i = 0; i < per_word; ++i) {
        const auto q = static_cast<std::int32_t>(rest & ((1u << bits) - 1u));
        dots[row] += static_cast<float>(q) * x[word * per_word + i];
        if constexpr (bits < 32) rest >>= bits;
      }
    }
  }
}

/// Compute `num_rows` rows from `o` on, group by group.
template <int bits, int num_rows, class Scale>
void block_of_rows(
    const float* x, const float* sums, const QuantizedMatrix<Scale>& w, float* y,
    int o) {
  float totals[num_rows] = {};
  for (int group = 0; group < w.groups(); ++group) {
    float dots[num_rows];
    dot_words<bits, num_rows>(x, w, o, group, dots);
    for (int row = 0; row < num_rows; ++row) {
      totals[row] += to_float(w.row_scales(o + row)[group]) * dots[row];
      totals[row] += to_float(w.row_biases(o + row)[group]) * sums[group];
    }
  }
  for (int row = 0; row < num_rows; ++row) y[o + row] = totals[row];
}

/// Four rows at a time: more sums than that do not stay in registers.
template <int bits, class Scale>
void matvec_blocked(
    const float* x, const QuantizedMatrix<Scale>& w, float* y, Rows rows) {
  const std::vector<float> sums = group_sums(x, w.groups(), w.group_size);
  int o = rows.first;
  for (; o + 4 <= rows.last; o += 4) block_of_rows<bits, 4>(x, sums.data(), w, y, o);
  for (; o < rows.last; ++o) block_of_rows<bits, 1>(x, sums.data(), w, y, o);
}

template <class Vector, class Number>
Vector load_vector(const Number* from) {
  Vector vector;
  std::memcpy(&vector, from, sizeof(vector));
  return vector;
}

/// How many words are unpacked side by side: registers of every processor hold four.
/// A group of 32 weights of 2 bits has only two.
constexpr int lanes_of(int bits, int group_size) {
  return bits * group_size < 128 ? 2 : 4;
}

/// Put x into the order in which `lanes` words side by side give their weights: first
/// the lowest weight of each word, then the next of each.
template <int bits, int lanes>
std::vector<float> in_order_of_words(const float* x, int num_columns) {
  constexpr int per_word = 32 / bits;
  std::vector<float> ordered(static_cast<std::size_t>(num_columns));
  for (int i = 0; i < num_columns; ++i) {
    const int first = i / (lanes * per_word) * (lanes * per_word);
    const int word = (i - first) / per_word;
    const int place = (i - first) % per_word;
    ordered[static_cast<std::size_t>(first + place * lanes + word)] = x[i];
  }
  return ordered;
}

/// Compute a row, with x in the order of the words.
template <int bits, int group_size, class Scale>
float simd_row(
    const float* x, const float* sums, const QuantizedMatrix<Scale>& w, int o) {
  constexpr int lanes = lanes_of(bits, group_size);
  using Words = typename Vectors<lanes>::Words;
  using Integers = typename Vectors<lanes>::Integers;
  using Floats = typename Vectors<lanes>::Floats;
  constexpr int per_word = 32 / bits;
  constexpr int per_step = lanes * per_word;
  const std::uint32_t* words = w.row(o);
  Floats total = {};
  float bias_total = 0;
  for (int group = 0; group < w.groups(); ++group) {
    // Two sums: each waits for its last addition, which takes some cycles.
    Floats dots[2] = {};
    for (int i = 0; i < group_size; i += per_step) {
      Words packed = load_vector<Words>(words);
      for (int place = 0; place < per_word; ++place) {
        const auto q = reinterpret_cast<Integers>(packed & ((1u << bits) - 1u));
        dots[place % 2] += __builtin_convertvector(q, Floats) * load_vector<Floats>(x);
        packed >>= bits;
        x += lanes;
      }
      words += lanes;
    }
    total += (dots[0] + dots[1]) * to_float(w.row_scales(o)[group]);
    bias_total += to_float(w.row_biases(o)[group]) * sums[group];
  }
  for (int lane = 0; lane < lanes; ++lane) bias_total += total[lane];
  return bias_total;
}

template <int bits, int group_size, class Scale>
void matvec_simd(const float* x, const QuantizedMatrix<Scale>& w, float* y, Rows rows) {
  constexpr int lanes = lanes_of(bits, group_size);
  const std::vector<float> sums = group_sums(x, w.groups(), group_size);
  const auto ordered = in_order_of_words<bits, lanes>(x, w.num_columns);
  for (int o = rows.first; o < rows.last; ++o) {
    y[o] = simd_row<bits, group_size>(ordered.data(), sums.data(), w, o);
  }
}

template <int bits, class Scale>
void matvec_simd(const float* x, const QuantizedMatrix<Scale>& w, float* y, Rows rows) {
  if (w.group_size == 32) return matvec_simd<bits, 32>(x, w, y, rows);
  if (w.group_size == 64) return matvec_simd<bits, 64>(x, w, y, rows);
  matvec_simd<bits, 128>(x, w, y, rows);
}

}  // namespace detail

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

/// A word, a scale and a bias at a time, and a few rows together.
///
///     y[o] = sum over groups g of  scale[o, g] * sum(q * x) + bias[o, g] * sum(x)
template <class Scale>
void matvec_blocked(
    const float* x, const QuantizedMatrix<Scale>& w, float* y, Rows rows) {
  if (w.bits == 2) return detail::matvec_blocked<2>(x, w, y, rows);
  if (w.bits == 4) return detail::matvec_blocked<4>(x, w, y, rows);
  detail::matvec_blocked<8>(x, w, y, rows);
}

/// The same sums, with vectors of the compiler: several weights in one instruction.
template <class Scale>
void matvec_simd(const float* x, const QuantizedMatrix<Scale>& w, float* y, Rows rows) {
  if (w.bits == 2) return detail::matvec_simd<2>(x, w, y, rows);
  if (w.bits == 4) return detail::matvec_simd<4>(x, w, y, rows);
  detail::matvec_simd<8>(x, w, y, rows);
}

}  // namespace tiny_llm
