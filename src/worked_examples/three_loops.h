/// Three loops over numbers in memory, for the primer of Week 2.
///
/// Each returns a sum, so that the compiler cannot leave the loop out. `n` is a multiple
/// of 64.
#pragma once

#include <cstddef>

namespace worked {

constexpr int lanes = 64;
constexpr int numbers_in_a_line = 16;  // 64 bytes, on most processors

/// Loop 1: every addition waits for the one before it.
inline float one_sum(const float* x, std::ptrdiff_t n) {
  float sum = 0;
  for (std::ptrdiff_t i = 0; i < n; ++i) sum += x[i];
  return sum;
}

/// Loop 2: 64 sums that do not wait for each other, in as many lanes.
inline float sums_in_lanes(const float* x, std::ptrdiff_t n) {
  float sums[lanes] = {};
  for (std::ptrdiff_t i = 0; i < n; i += lanes) {
    for (int lane = 0; lane < lanes; ++lane) sums[lane] += x[i + lane];
  }
  for (int half = lanes / 2; half > 0; half /= 2) {
    for (int lane = 0; lane < half; ++lane) sums[lane] += sums[lane + half];
  }
  return sums[0];
}

/// Loop 3: one number of each cache line, a sixteenth of all, in four sums, so that the
/// additions of one do not wait for those of another.
inline float one_of_each_line(const float* x, std::ptrdiff_t n) {
  float sums[4] = {};
  for (std::ptrdiff_t i = 0; i < n; i += 4 * numbers_in_a_line) {
    for (int k = 0; k < 4; ++k) sums[k] += x[i + k * numbers_in_a_line];
  }
  return one_sum(sums, 4);
}

}  // namespace worked
