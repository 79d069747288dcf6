/// A square of 4 x 4 words in registers of 128 bits.
#pragma once

#include <cstdint>

// What is not beside this file is in src/extensions_shared/kernels.
#include "kernels/wide.h"

namespace tiny_llm {

namespace squares {

using Four = Vectors<4>::Words;

/// Pick four of the words of two registers: 0 to 3 are those of the first.
template <std::uint32_t... numbers>
TINY_LLM_INLINE inline Four pick(Four first, Four second) {
#if defined(__clang__)
  return __builtin_shufflevector(first, second, numbers...);
#else
  return __builtin_shuffle(first, second, Four{numbers...});
#endif
}

/// Transpose a square, in two rounds.
TINY_LLM_INLINE inline void transpose(Four (&square)[4]) {
  const Four ab = pick<0, 4, 1, 5>(square[0], square[1]);
  const Four cd = pick<0, 4, 1, 5>(square[2], square[3]);
  const Four ab_high = pick<2, 6, 3, 7>(square[0], square[1]);
  const Four cd_high = pick<2, 6, 3, 7>(square[2], square[3]);
  square[0] = pick<0, 1, 4, 5>(ab, cd);
  square[1] = pick<2, 3, 6, 7>(ab, cd);
  square[2] = pick<0, 1, 4, 5>(ab_high, cd_high);
  square[3] = pick<2, 3, 6, 7>(ab_high, cd_high);
}

}  // namespace squares

}  // namespace tiny_llm
