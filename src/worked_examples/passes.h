/// Small work between large: passes over memory, calls, tables, rounds of threads.
///
/// Four neighbours of what Week 2, Day 7 asks for, and no part of its solution:
///
///     blend    z = a x + y, with the mean and the variance of each row of z
///     bell     y = exp(-x x)
///     window   y[frame, i] = x[frame, i] * (0.5 - 0.5 cos(2 pi i / N))
///     sums     the sums of a few arrays, on all cores
///
/// All arrays are contiguous and in float32. Lengths of rows are multiples of 64.
#pragma once

#include <cmath>
#include <cstddef>
#include <numbers>
#include <vector>

#include "kernels/exponential.h"
#include "kernels/threads.h"
#include "kernels/wide.h"

namespace worked {

/// The blend of some rows. x, y, scaled, z: rows x D, mean, variance: rows.
struct Blend {
  float a;
  const float* x;
  const float* y;
  float* scaled;
  float* z;
  float* mean;
  float* variance;
  int num_rows;
  int D;

  std::ptrdiff_t start_of(int row) const { return static_cast<std::ptrdiff_t>(row) * D; }
};

/// An operation: scaled = a x.
[[gnu::noinline]] inline void scale(
    float a, const float* __restrict x, float* __restrict scaled, std::ptrdiff_t n) {
  for (std::ptrdiff_t i = 0; i < n; ++i) scaled[i] = a * x[i];
}

/// An operation: z = scaled + y.
[[gnu::noinline]] inline void add(
    const float* __restrict scaled, const float* __restrict y, float* __restrict z,
    std::ptrdiff_t n) {
  for (std::ptrdiff_t i = 0; i < n; ++i) z[i] = scaled[i] + y[i];
}

/// An operation: the sum of a row, each addition after the one before.
[[gnu::noinline]] inline float sum(const float* z, int D) {
  float total = 0;
  for (int i = 0; i < D; ++i) total += z[i];
  return total;
}

/// An operation: the sum of the squares of a row.
[[gnu::noinline]] inline float sum_of_squares(const float* z, int D) {
  float total = 0;
  for (int i = 0; i < D; ++i) total += z[i] * z[i];
  return total;
}

constexpr int num_sums = 32;  // side by side

/// Add up what lies side by side.
[[gnu::noinline]] inline float total_of(const float* sums) {
  float total = 0;
  for (int lane = 0; lane < num_sums; ++lane) total += sums[lane];
  return total;
}

/// The sum of a row, in sums that do not wait for each other.
[[gnu::noinline]] inline float sum_in_lanes(const float* z, int D) {
  float sums[num_sums] = {};
  for (int i = 0; i < D; i += num_sums) {
    for (int lane = 0; lane < num_sums; ++lane) sums[lane] += z[i + lane];
  }
  return total_of(sums);
}

/// The sum of the squares of a row, in the same way.
[[gnu::noinline]] inline float sum_of_squares_in_lanes(const float* z, int D) {
  float sums[num_sums] = {};
  for (int i = 0; i < D; i += num_sums) {
    for (int lane = 0; lane < num_sums; ++lane) {
      sums[lane] += z[i + lane] * z[i + lane];
    }
  }
  return total_of(sums);
}

/// Store the mean and the variance of a row, given its sum and that of its squares.
TINY_LLM_INLINE inline void store_moments(
    const Blend& b, int row, float sum, float sum_of_squares) {
  const float mean = sum / static_cast<float>(b.D);
  b.mean[row] = mean;
  b.variance[row] = sum_of_squares / static_cast<float>(b.D) - mean * mean;
}

/// Rung 1, the control: one operation after the other, each through all rows.
inline void blend_by_operations(const Blend& b) {
  const std::ptrdiff_t n = b.start_of(b.num_rows);
  scale(b.a, b.x, b.scaled, n);
  add(b.scaled, b.y, b.z, n);
  for (int r = 0; r < b.num_rows; ++r) b.mean[r] = sum(b.z + b.start_of(r), b.D);
  for (int r = 0; r < b.num_rows; ++r) {
    store_moments(b, r, b.mean[r], sum_of_squares(b.z + b.start_of(r), b.D));
  }
}

/// Rung 2: the same, with sums side by side.
inline void blend_in_lanes(const Blend& b) {
  const std::ptrdiff_t n = b.start_of(b.num_rows);
  scale(b.a, b.x, b.scaled, n);
  add(b.scaled, b.y, b.z, n);
  for (int r = 0; r < b.num_rows; ++r) {
    b.mean[r] = sum_in_lanes(b.z + b.start_of(r), b.D);
  }
  for (int r = 0; r < b.num_rows; ++r) {
    store_moments(b, r, b.mean[r], sum_of_squares_in_lanes(b.z + b.start_of(r), b.D));
  }
}

/// Rung 3: the same four loops in another order, all of them on one row.
inline void blend_row_by_row(const Blend& b) {
  for (int r = 0; r < b.num_rows; ++r) {
    const std::ptrdiff_t start = b.start_of(r);
    float* const z = b.z + start;
    scale(b.a, b.x + start, b.scaled, b.D);  // the same short row each time
    add(b.scaled, b.y + start, z, b.D);
    store_moments(b, r, sum_in_lanes(z, b.D), sum_of_squares_in_lanes(z, b.D));
  }
}

/// One row in one loop: each number is read once, used and stored.
TINY_LLM_INLINE inline void blend_row(
    float a, const float* __restrict x, const float* __restrict y,
    float* __restrict z, int D, float* sum, float* sum_of_squares) {
  float sums[num_sums] = {}, squares[num_sums] = {};
  for (int i = 0; i < D; i += num_sums) {
    for (int lane = 0; lane < num_sums; ++lane) {
      const float one = a * x[i + lane] + y[i + lane];
      z[i + lane] = one;
      sums[lane] += one;
      squares[lane] += one * one;
    }
  }
  *sum = total_of(sums);
  *sum_of_squares = total_of(squares);
}

/// All rows in that way.
TINY_LLM_INLINE inline void blend_rows(const Blend& b) {
  for (int r = 0; r < b.num_rows; ++r) {
    const std::ptrdiff_t start = b.start_of(r);
    float sum, squares;
    blend_row(b.a, b.x + start, b.y + start, b.z + start, b.D, &sum, &squares);
    store_moments(b, r, sum, squares);
  }
}

/// Rung 4: one loop in place of four.
inline void blend_in_one_loop(const Blend& b) { blend_rows(b); }

/// Rung 5: the same lines, in the widest registers that the processor has.
inline void blend_wide(const Blend& b) {
  tiny_llm::in_wide_vectors([=]() TINY_LLM_INLINE { blend_rows(b); });
}

/// A bell curve, with the exponential of the C library.
inline void bell_called(const float* __restrict x, float* __restrict y, int n) {
  for (int i = 0; i < n; ++i) y[i] = std::exp(-x[i] * x[i]);
}

/// 16 numbers at a time, with an exponential that becomes part of the loop.
TINY_LLM_INLINE inline void bells(
    const float* __restrict x, float* __restrict y, int n) {
  for (int i = 0; i < n; i += 16) {
    for (int lane = 0; lane < 16; ++lane) {
      const float one = x[i + lane];
      y[i + lane] = tiny_llm::exponential(-one * one);
    }
  }
}

/// The bell curve in that way.
inline void bell_inlined(const float* x, float* y, int n) { bells(x, y, n); }

/// The same lines, in the widest registers that the processor has.
inline void bell_wide(const float* x, float* y, int n) {
  tiny_llm::in_wide_vectors([=]() TINY_LLM_INLINE { bells(x, y, n); });
}

/// Frames of a sound. x, y: frames x N.
struct Frames {
  const float* x;
  float* y;
  int num_frames;
  int N;
};

/// Fade each frame in and out, with a cosine for every number.
inline void window_computed(const Frames& f) {
  for (int frame = 0; frame < f.num_frames; ++frame) {
    for (int i = 0; i < f.N; ++i) {
      const double angle = 2 * std::numbers::pi * i / f.N;
      const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(frame) * f.N + i;
      f.y[at] = f.x[at] * static_cast<float>(0.5 - 0.5 * std::cos(angle));
    }
  }
}

/// Make the table that the frames share.
inline std::vector<float> window_table(int N) {
  std::vector<float> table;
  for (int i = 0; i < N; ++i) {
    const double angle = 2 * std::numbers::pi * i / N;
    table.push_back(static_cast<float>(0.5 - 0.5 * std::cos(angle)));
  }
  return table;
}

/// The same, with a table: one factor for each place in a frame.
inline void window_from_table(const Frames& f, const float* __restrict table) {
  for (int frame = 0; frame < f.num_frames; ++frame) {
    const std::ptrdiff_t start = static_cast<std::ptrdiff_t>(frame) * f.N;
    const float* __restrict x = f.x + start;
    float* __restrict y = f.y + start;
    for (int i = 0; i < f.N; ++i) y[i] = x[i] * table[i];
  }
}

/// Arrays to add up, each cut into pieces. sums: one for each piece of each array.
struct Arrays {
  std::vector<const float*> each;
  int length;      ///< of each array
  int num_pieces;  ///< of each array: divides the length into multiples of 64
  float* sums;

  int count() const { return static_cast<int>(each.size()); }

  void add_up(int array, int piece) const {
    const int share = length / num_pieces;
    const float* const first = each[static_cast<std::size_t>(array)];
    sums[array * num_pieces + piece] = sum_in_lanes(first + piece * share, share);
  }
};

/// The control: one core.
inline void sums_on_one_core(const Arrays& arrays) {
  for (int array = 0; array < arrays.count(); ++array) {
    for (int piece = 0; piece < arrays.num_pieces; ++piece) arrays.add_up(array, piece);
  }
}

/// A round of the threads for each array: all wait at its end.
inline void sums_in_rounds(const Arrays& arrays) {
  for (int array = 0; array < arrays.count(); ++array) {
    tiny_llm::threads().run(
        arrays.num_pieces, [&](int piece) { arrays.add_up(array, piece); });
  }
}

/// One round for all arrays, whose pieces are counted through.
inline void sums_in_one_round(const Arrays& arrays) {
  const int n = arrays.num_pieces;
  tiny_llm::threads().run(arrays.count() * n, [&](int number) {
    arrays.add_up(number / n, number % n);
  });
}

}  // namespace worked
