/// Activations rounded to 8 bits, in groups that meet those of the weights.
///
///     scale = max(|x|) / 127 over the group,   q = round(x / scale),   |q| <= 127
///
/// A processor multiplies and adds 64 pairs of bytes in the time that it needs for 16
/// pairs of floats. Weights are bytes, or parts of bytes, already. With
///
///     w = s_w * q_w + b_w,   x ~ s_x * q
///
/// a group's share of a product of weights and activations is
///
///     s_w * s_x * sum(q_w * q) + b_w * s_x * sum(q)
///
/// where both sums have integers only, and the second one has no weights in it: `sums`
/// holds s_x * sum(q). The sum of the x themselves would be no better. An error e of x
/// counts w * e as it is, and would count s_w * q_w * e: w is small, and b_w is not.
///
/// q is stored in the order in which unpacked weights come. A byte holds 8 / bits of
/// them, so a block of N = min(group_size, 64) weights is N * bits / 8 bytes. One mask
/// takes the lowest weight of all bytes, a shift and a mask the next, and so on:
///
///     4 bits:  q0 q2 q4 ... q62 | q1 q3 q5 ... q63
///     2 bits:  q0 q4 q8 ... q60 | q1 q5 ... | q2 q6 ... | q3 q7 ... q63
///     8 bits:  q0 q1 q2 ... q63
///
/// x must be finite. Arrays are contiguous and do not overlap.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

// What is not beside this file is in src/extensions_shared/kernels.
#include "kernels/instructions.h"
#include "kernels/todo.h"

namespace tiny_llm {

/// A vector of I activations in 8 bits, which this struct does not own.
struct Int8Activations {
  std::int8_t* q;   ///< I, block after block, in the order above
  float* scales;    ///< I / group_size
  float* sums;      ///< I / group_size: of the rounded x, s_x * sum(q)
  int num_columns;  ///< I: 1 group or more
  int group_size;   ///< 32, 64 or 128, as that of the weights
  int bits;         ///< 2, 4 or 8, as those of the weights

  int groups() const { return num_columns / group_size; }
  int block_size() const { return std::min(group_size, 64); }
};

/// Round x to 8 bits: fill `to.q`, `to.scales` and `to.sums`.
///
/// x: I = to.num_columns. A group of zeros has the scale 0.
inline void quantize_activations(const float* x, const Int8Activations& to) {
  todo("week 2, day 4, task 3");
}

/// Memory for activations in 8 bits, kept from one product to the next.
class Int8Buffer {
 public:
  /// Round x, a vector of I, for weights of this format.
  ///
  /// The result is good until the next call.
  Int8Activations round(const float* x, int num_columns, int group_size, int bits) {
    const auto size = static_cast<std::size_t>(num_columns);
    const std::size_t groups = size / static_cast<std::size_t>(group_size);
    if (q_.size() < size) q_.resize(size);
    if (scales_.size() < groups) scales_.resize(groups);
    if (sums_.size() < groups) sums_.resize(groups);
    const Int8Activations to{
        q_.data(), scales_.data(), sums_.data(), num_columns, group_size, bits};
    quantize_activations(x, to);
    return to;
  }

 private:
  std::vector<std::int8_t> q_;
  std::vector<float> scales_;
  std::vector<float> sums_;
};

}  // namespace tiny_llm
