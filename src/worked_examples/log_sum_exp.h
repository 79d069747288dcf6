/// The log-sum-exp of rows of scores: a ladder of rungs, for Week 2, Day 6.
///
///     y[o] = log of the sum over j of e^s[o, j]
///
/// It is a neighbour of attention, and no part of the day's solution: there are no
/// queries, keys or values, and each row ends in one number. s: L x S, contiguous and
/// finite, L a multiple of 16 and S of 64. Each rung computes the rows it is given.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "kernels/exponential.h"
#include "kernels/quantized_matrix.h"
#include "kernels/threads.h"
#include "kernels/wide.h"

namespace worked {

using tiny_llm::exponential;
using tiny_llm::Rows;

constexpr int tile = 64;         // scores that share a factor
constexpr int rows_of_block = 16;
constexpr float minus_infinity = -std::numeric_limits<float>::infinity();

struct Scores {
  const float* s;       ///< L x S
  const float* blocks;  ///< the same scores, S x 16 for each 16 rows
  float* room;          ///< L x S, for the rung that writes its weights down
  int num_rows;         ///< L, a multiple of 16
  int num_scores;       ///< S, a multiple of 64

  std::ptrdiff_t begin(int o) const {
    return static_cast<std::ptrdiff_t>(o) * num_scores;
  }
};

/// Rung 1, the control: one pass over all scores after the other, as arrays do it.
inline void rows_written_down(const Scores& a, float* y, Rows rows) {
  for (int o = rows.first; o < rows.last; ++o) {
    y[o] = *std::max_element(a.s + a.begin(o), a.s + a.begin(o + 1));
  }
  for (int o = rows.first; o < rows.last; ++o) {
    for (std::ptrdiff_t at = a.begin(o); at < a.begin(o + 1); ++at) {
      a.room[at] = std::exp(a.s[at] - y[o]);
    }
  }
  for (int o = rows.first; o < rows.last; ++o) {
    float total = 0;
    for (std::ptrdiff_t at = a.begin(o); at < a.begin(o + 1); ++at) total += a.room[at];
    y[o] += std::log(total);
  }
}

/// Rung 2: a maximum so far, and a sum that is corrected when it rises.
inline void rows_online(const Scores& a, float* y, Rows rows) {
  for (int o = rows.first; o < rows.last; ++o) {
    const float* s = a.s + a.begin(o);
    float top = minus_infinity, total = 0;
    for (int j = 0; j < a.num_scores; ++j) {
      const float new_top = std::max(top, s[j]);
      total = total * std::exp(top - new_top) + std::exp(s[j] - new_top);
      top = new_top;
    }
    y[o] = top + std::log(total);
  }
}

/// Rung 3: a tile of 64 scores has one maximum, and so one factor.
inline void rows_tile_by_tile(const Scores& a, float* y, Rows rows) {
  for (int o = rows.first; o < rows.last; ++o) {
    const float* s = a.s + a.begin(o);
    float top = minus_infinity, total = 0;
    for (int first = 0; first < a.num_scores; first += tile) {
      float new_top = top, sum = 0;
      for (int j = first; j < first + tile; ++j) new_top = std::max(new_top, s[j]);
      for (int j = first; j < first + tile; ++j) sum += std::exp(s[j] - new_top);
      total = total * std::exp(top - new_top) + sum;
      top = new_top;
    }
    y[o] = top + std::log(total);
  }
}

/// Rung 4: the same with the polynomial of kernels/exponential.h, which calls nothing.
inline void rows_with_polynomial(const Scores& a, float* y, Rows rows) {
  for (int o = rows.first; o < rows.last; ++o) {
    const float* s = a.s + a.begin(o);
    float top = minus_infinity, total = 0;
    for (int first = 0; first < a.num_scores; first += tile) {
      float new_top = top, sum = 0;
      for (int j = first; j < first + tile; ++j) new_top = std::max(new_top, s[j]);
      for (int j = first; j < first + tile; ++j) sum += exponential(s[j] - new_top);
      total = total * exponential(top - new_top) + sum;
      top = new_top;
    }
    y[o] = top + std::log(total);
  }
}

/// What has been collected from some scores: their maximum, and the sum of e^(s - top).
struct Part {
  float top = minus_infinity;
  float total = 0;
};

/// Add the scores of a tile to a part, `lanes` of them side by side.
template <int lanes>
TINY_LLM_INLINE inline void look_at_tile(const float* s, Part& part) {
  using Floats = typename tiny_llm::Vectors<lanes>::Floats;
  using Words = typename tiny_llm::Vectors<lanes>::Words;
  Floats x, tops, sums{};
  tiny_llm::load(s, tops);
  for (int j = lanes; j < tile; j += lanes) {
    tiny_llm::load(s + j, x);
    tops = x > tops ? x : tops;
  }
  float top = part.top, sum = 0;
  for (int lane = 0; lane < lanes; ++lane) top = std::max(top, tops[lane]);
  for (int j = 0; j < tile; j += lanes) {
    tiny_llm::load(s + j, x);
    x -= top;
    tiny_llm::exponentiate<Floats, Words>(x);
    sums += x;
  }
  for (int lane = 0; lane < lanes; ++lane) sum += sums[lane];
  part = {top, part.total * exponential(part.top - top) + sum};
}

template <int lanes>
TINY_LLM_INLINE inline void rows_in_tiles(const Scores& a, float* y, Rows rows) {
  for (int o = rows.first; o < rows.last; ++o) {
    Part part;
    for (int first = 0; first < a.num_scores; first += tile) {
      look_at_tile<lanes>(a.s + a.begin(o) + first, part);
    }
    y[o] = part.top + std::log(part.total);
  }
}

/// Rung 5: the scores of a tile are lanes.
inline void scores_in_4_lanes(const Scores& a, float* y, Rows rows) {
  rows_in_tiles<4>(a, y, rows);
}

#if defined(__x86_64__)
TINY_LLM_AVX2 inline void scores_in_8_lanes(const Scores& a, float* y, Rows rows) {
  rows_in_tiles<8>(a, y, rows);
}

TINY_LLM_AVX512_VNNI inline void scores_in_16_lanes(
    const Scores& a, float* y, Rows rows) {
  rows_in_tiles<16>(a, y, rows);
}
#endif

/// Some rows side by side: each lane has a maximum and a sum of its own.
template <int lanes>
TINY_LLM_INLINE inline void rows_as_lanes(const float* s, int num_scores, float* y) {
  using Floats = typename tiny_llm::Vectors<lanes>::Floats;
  using Words = typename tiny_llm::Vectors<lanes>::Words;
  Floats x, tops = Floats{} + minus_infinity, totals{};
  for (int first = 0; first < num_scores; first += tile) {
    Floats factors = tops;
    for (int j = first; j < first + tile; ++j) {
      tiny_llm::load(s + j * rows_of_block, x);
      tops = x > tops ? x : tops;
    }
    factors -= tops;
    tiny_llm::exponentiate<Floats, Words>(factors);
    totals *= factors;
    for (int j = first; j < first + tile; ++j) {
      tiny_llm::load(s + j * rows_of_block, x);
      x -= tops;
      tiny_llm::exponentiate<Floats, Words>(x);
      totals += x;
    }
  }
  for (int lane = 0; lane < lanes; ++lane) {
    y[lane] = tops[lane] + std::log(totals[lane]);
  }
}

/// Call `work` with each group of `lanes` rows: its scores in the blocks, its results.
/// Rows begin and end with a block.
template <int lanes, class Work>
TINY_LLM_INLINE inline void for_each_lanes(
    const Scores& a, float* y, Rows rows, Work work) {
  for (int o = rows.first; o < rows.last; o += rows_of_block) {
    for (int row = 0; row < rows_of_block; row += lanes) {
      work(a.begin(o) + row, y + o + row);
    }
  }
}

template <int lanes>
TINY_LLM_INLINE inline void blocks_as_lanes(const Scores& a, float* y, Rows rows) {
  const float* s = a.blocks;
  const int n = a.num_scores;
  for_each_lanes<lanes>(a, y, rows, [=](auto at, float* own) TINY_LLM_INLINE {
    rows_as_lanes<lanes>(s + at, n, own);
  });
}

/// Rung 6: rows are lanes.
inline void rows_in_4_lanes(const Scores& a, float* y, Rows rows) {
  blocks_as_lanes<4>(a, y, rows);
}

#if defined(__x86_64__)
TINY_LLM_AVX2 inline void rows_in_8_lanes(const Scores& a, float* y, Rows rows) {
  blocks_as_lanes<8>(a, y, rows);
}

TINY_LLM_AVX512_VNNI inline void rows_in_16_lanes(
    const Scores& a, float* y, Rows rows) {
  blocks_as_lanes<16>(a, y, rows);
}
#endif

/// Some rows side by side: raise `tops` to their largest scores.
template <int lanes>
TINY_LLM_INLINE inline void raise_tops(const float* s, int num_scores, float* tops) {
  typename tiny_llm::Vectors<lanes>::Floats x, own;
  tiny_llm::load(tops, own);
  for (int j = 0; j < num_scores; ++j) {
    tiny_llm::load(s + j * rows_of_block, x);
    own = x > own ? x : own;
  }
  tiny_llm::store(own, tops);
}

/// Some rows side by side: write down e^(s - top).
template <int lanes>
TINY_LLM_INLINE inline void write_down(
    const float* s, int num_scores, const float* tops, float* weights) {
  using Floats = typename tiny_llm::Vectors<lanes>::Floats;
  using Words = typename tiny_llm::Vectors<lanes>::Words;
  Floats x, own;
  tiny_llm::load(tops, own);
  for (int j = 0; j < num_scores; ++j) {
    tiny_llm::load(s + j * rows_of_block, x);
    x -= own;
    tiny_llm::exponentiate<Floats, Words>(x);
    tiny_llm::store(x, weights + j * rows_of_block);
  }
}

/// Some rows side by side: add the logarithm of the sum of their weights.
template <int lanes>
TINY_LLM_INLINE inline void add_logarithms(
    const float* weights, int num_scores, float* y) {
  typename tiny_llm::Vectors<lanes>::Floats x, sums{};
  for (int j = 0; j < num_scores; ++j) {
    tiny_llm::load(weights + j * rows_of_block, x);
    sums += x;
  }
  for (int lane = 0; lane < lanes; ++lane) y[lane] += std::log(sums[lane]);
}

/// The control again, now with rows as lanes: three passes over all blocks.
inline void lanes_written_down(const Scores& a, float* y, Rows rows) {
  const float* s = a.blocks;
  float* room = a.room;
  const int n = a.num_scores;
  std::fill(y + rows.first, y + rows.last, minus_infinity);
  tiny_llm::in_best_registers([=, &a](auto registers) TINY_LLM_INLINE {
    constexpr int lanes = decltype(registers)::lanes;
    for_each_lanes<lanes>(a, y, rows, [=](auto at, float* own) TINY_LLM_INLINE {
      raise_tops<lanes>(s + at, n, own);
    });
    for_each_lanes<lanes>(a, y, rows, [=](auto at, float* own) TINY_LLM_INLINE {
      write_down<lanes>(s + at, n, own, room + at);
    });
    for_each_lanes<lanes>(a, y, rows, [=](auto at, float* own) TINY_LLM_INLINE {
      add_logarithms<lanes>(room + at, n, own);
    });
  });
}

/// Look at some scores, with the lanes of this processor. The last tile is filled up.
inline Part looked_at(const float* s, std::ptrdiff_t num_scores) {
  Part found;
  tiny_llm::in_best_registers([=, &found](auto registers) TINY_LLM_INLINE {
    constexpr int lanes = decltype(registers)::lanes;
    Part part;
    std::ptrdiff_t j = 0;
    for (; j + tile <= num_scores; j += tile) look_at_tile<lanes>(s + j, part);
    if (j < num_scores) {
      float last[tile];
      std::fill(std::copy(s + j, s + num_scores, last), last + tile, minus_infinity);
      look_at_tile<lanes>(last, part);
    }
    found = part;
  });
  return found;
}

/// A mask: row o sees the scores up to its own, and skips the tiles after that.
inline void rows_of_triangle(const Scores& a, float* y, Rows rows) {
  for (int o = rows.first; o < rows.last; ++o) {
    const Part part = looked_at(a.s + a.begin(o), o + 1);
    y[o] = part.top + std::log(part.total);
  }
}

/// Merge parts: each sum is brought to the largest maximum.
inline Part merged(const std::vector<Part>& parts) {
  Part all;
  for (const Part& part : parts) all.top = std::max(all.top, part.top);
  for (const Part& part : parts) {
    all.total += part.total * exponential(part.top - all.top);
  }
  return all;
}

/// Rung 7: one long row, in pieces that all cores share.
inline float row_in_pieces(const float* s, std::ptrdiff_t num_scores, int num_pieces) {
  std::vector<Part> parts(static_cast<std::size_t>(num_pieces));
  tiny_llm::threads().run(num_pieces, [&](int piece) {
    const std::ptrdiff_t first = num_scores * piece / num_pieces;
    const std::ptrdiff_t last = num_scores * (piece + 1) / num_pieces;
    parts[static_cast<std::size_t>(piece)] = looked_at(s + first, last - first);
  });
  const Part all = merged(parts);
  return all.top + std::log(all.total);
}

}  // namespace worked
