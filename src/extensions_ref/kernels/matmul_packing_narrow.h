/// How `pack_panel` lays out a panel with registers of 128 bits: AVX2, AVX-VNNI and NEON.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/matmul_packing.h"
#include "kernels/panel.h"
#include "kernels/quantized_matrix.h"
#include "kernels/square.h"
#include "kernels/wide.h"

namespace tiny_llm {

namespace detail {

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
      squares::Four square[4];
      for (int i = 0; i < 4; ++i) load(rows[r + i] + word, square[i]);
      squares::transpose(square);
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
