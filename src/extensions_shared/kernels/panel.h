/// Some rows of a matrix, in the order in which the tiles of a product read them.
#pragma once

#include <cstdint>

namespace tiny_llm {

/// How many rows of the matrix make a panel: the 32-bit lanes of a 512-bit register.
inline constexpr int panel_rows = 16;

/// Some rows of a matrix, in the order in which a tile reads them. It owns no memory.
///
/// Four inputs of one output stand together, then those of the next. So 64 bytes are
/// four inputs of 16 outputs, which one instruction multiplies by four activations.
struct Panel {
  std::uint8_t* q;  ///< I / 4 x 16 x 4: inputs, outputs, inputs
  float* scales;    ///< I / group_size x 16
  float* biases;    ///< I / group_size x 16
};

}  // namespace tiny_llm
