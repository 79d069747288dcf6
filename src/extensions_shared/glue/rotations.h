/// Tables of cosines and sines that outlive a call.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

namespace tiny_llm {

/// Cosines and sines of the positions from 0 on: positions x D / 2 each.
struct Rotations {
  std::vector<float> cosines;
  std::vector<float> sines;
};

/// Return a table with `num_positions` rows at least.
///
/// One table for each D and base is kept, and made longer when a text is. Whoever holds
/// a shorter one may go on using it.
std::shared_ptr<const Rotations> rotations_for(int D, double base, int num_positions);

/// Fail unless there is a table for `num_tokens` tokens from `offset` on.
void expect_positions(int offset, int num_tokens, std::string_view where);

}  // namespace tiny_llm
