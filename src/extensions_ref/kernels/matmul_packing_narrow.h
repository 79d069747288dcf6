/// How `pack_panel` lays out a panel with registers of 128 bits: AVX2, AVX-VNNI and NEON.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/matmul_packing.h"
#include "kernels/panel.h"
#include "kernels/quantized_matrix.h"
#include "kernels/wide.h"

namespace tiny_llm {

namespace detail {

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

/// Transpose a square of words in registers of 128 bits, in two rounds.
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

/// Do what `pack_portable` does, four words of four rows at a time. A block has as many
/// words, or a multiple: all have but those of 32 weights of 2 bits.
template <int bits, class Scale>
void pack_squares(const QuantizedMatrix<Scale>& w, int first_row, std::uint8_t* q) {
  constexpr int per_byte = 8 / bits;
  constexpr std::uint32_t mask = 0x01010101u * ((1u << bits) - 1u);
  const int block_words = block_size(w) / per_byte / 4;
  const int num_words = w.num_columns / per_byte / 4;
  const std::uint32_t* rows[panel_rows];
  for (int r = 0; r < panel_rows; ++r) rows[r] = w.row(row_of_panel(w, first_row, r));
  for (int word = 0; word < num_words; word += 4) {
    const int in_block = word % block_words;
    const int first = (word - in_block) * per_byte + in_block;
    for (int r = 0; r < panel_rows; r += 4) {
      Four square[4];
      for (int i = 0; i < 4; ++i) load(rows[r + i] + word, square[i]);
      transpose(square);
      for (int part = 0; part < per_byte; ++part) {
        for (int i = 0; i < 4; ++i) {
          const int to = (first + i + part * block_words) * panel_rows + r;
          store((square[i] >> (part * bits)) & mask, q + std::ptrdiff_t{to} * 4);
        }
      }
    }
  }
}

/// Lay out the weights.
template <class Scale>
void pack_narrow(const QuantizedMatrix<Scale>& w, int first_row, std::uint8_t* q) {
  if (block_size(w) * w.bits < 128) return pack_portable(w, first_row, q);
  if (w.bits == 2) return pack_squares<2>(w, first_row, q);
  if (w.bits == 4) return pack_squares<4>(w, first_row, q);
  pack_squares<8>(w, first_row, q);
}

}  // namespace detail

}  // namespace tiny_llm
