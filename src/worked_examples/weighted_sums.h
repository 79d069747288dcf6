/// Weighted sums of values, for heads that share them: a knob, for Week 2, Day 6.
///
///     sums[h] = sum over j of weights[j % 64, h] * v[j]
///
/// v: n x 16, weights: 64 x 7, sums: 7 x 16. There are few weights, and they are used
/// again and again, so that only values have to come from memory.
#pragma once

#include <cstddef>

#include "kernels/wide.h"

namespace worked {

constexpr int width = 16;        // of a value
constexpr int num_heads = 7;     // that share values
constexpr int num_weights = 64;  // of each head

/// Compute the sums of some heads, from `head` on, which share one reading of v.
template <int heads, int lanes>
TINY_LLM_INLINE inline void add_weighted(
    const float* v, int n, const float* weights, int head, float* sums) {
  using Floats = typename tiny_llm::Vectors<lanes>::Floats;
  constexpr int vectors = width / lanes;
  Floats value, own[heads][vectors] = {};
  for (int j = 0; j < n; ++j) {
    const float* weight = weights + j % num_weights * num_heads + head;
#pragma GCC unroll 4
    for (int k = 0; k < vectors; ++k) {
      tiny_llm::load(v + static_cast<std::ptrdiff_t>(j) * width + k * lanes, value);
#pragma GCC unroll 8
      for (int h = 0; h < heads; ++h) own[h][k] += weight[h] * value;
    }
  }
  for (int h = 0; h < heads; ++h) {
    for (int k = 0; k < vectors; ++k) {
      tiny_llm::store(own[h][k], sums + (head + h) * width + k * lanes);
    }
  }
}

/// The control: each head reads all values.
inline void heads_one_by_one(const float* v, int n, const float* weights, float* sums) {
  tiny_llm::in_best_registers([=](auto registers) TINY_LLM_INLINE {
    constexpr int lanes = decltype(registers)::lanes;
    for (int h = 0; h < num_heads; ++h) add_weighted<1, lanes>(v, n, weights, h, sums);
  });
}

/// Seven heads share a reading: a value is used seven times while it is in a register.
inline void heads_together(const float* v, int n, const float* weights, float* sums) {
  tiny_llm::in_best_registers([=](auto registers) TINY_LLM_INLINE {
    constexpr int lanes = decltype(registers)::lanes;
    add_weighted<num_heads, lanes>(v, n, weights, 0, sums);
  });
}

}  // namespace worked
