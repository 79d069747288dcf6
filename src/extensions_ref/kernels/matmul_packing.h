/// How `pack_panel` lays out a panel.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#include <immintrin.h>
#pragma GCC diagnostic pop
#endif

#include "kernels/instructions.h"
#include "kernels/numbers.h"
#include "kernels/panel.h"
#include "kernels/quantized_matrix.h"

namespace tiny_llm {

namespace detail {

/// The row of the matrix that is a row of a panel. Behind the last row comes itself.
template <class Scale>
int row_of_panel(const QuantizedMatrix<Scale>& w, int first_row, int r) {
  return std::min(first_row + r, w.num_rows - 1);
}

/// How many inputs are a block of int8.h.
template <class Scale>
int block_size(const QuantizedMatrix<Scale>& w) {
  return std::min(w.group_size, 64);
}

/// Take the parts out of four bytes at a time: a word of a row is, for each part, a word
/// of the panel.
template <class Scale>
void pack_portable(const QuantizedMatrix<Scale>& w, int first_row, std::uint8_t* q) {
  const int per_byte = 8 / w.bits;
  const int block_words = block_size(w) / per_byte / 4;
  const int num_words = w.num_columns / per_byte / 4;
  const std::uint32_t mask = 0x01010101u * ((1u << w.bits) - 1u);
  for (int r = 0; r < panel_rows; ++r) {
    const std::uint32_t* const row = w.row(row_of_panel(w, first_row, r));
    for (int word = 0; word < num_words; ++word) {
      const int in_block = word % block_words;
      const int first = (word - in_block) * per_byte + in_block;
      for (int part = 0; part < per_byte; ++part) {
        const std::uint32_t four = (row[word] >> (part * w.bits)) & mask;
        const int to = (first + part * block_words) * panel_rows + r;
        std::memcpy(q + std::ptrdiff_t{to} * 4, &four, 4);
      }
    }
  }
}

#if defined(__x86_64__)
/// Load up to 16 bytes from each of the rows 0, 4, 8 and 12. Zeros come behind them.
template <int num_bytes>
TINY_LLM_AVX512_VNNI inline __m512i load_four(
    const std::byte* const* rows, int offset) {
  const auto load = [&](int r) TINY_LLM_AVX512_VNNI {
    __m128i part = {};
    std::memcpy(&part, rows[r * 4] + offset, num_bytes);
    return part;
  };
  __m512i four = _mm512_castsi128_si512(load(0));
  four = _mm512_mask_broadcast_i32x4(four, 0x00f0, load(1));
  four = _mm512_mask_broadcast_i32x4(four, 0x0f00, load(2));
  return _mm512_mask_broadcast_i32x4(four, 0xf000, load(3));
}

/// Turn 16 bytes of 16 rows into 4 registers, each with 4 bytes of every row; or fewer
/// bytes, which fill the first registers.
///
/// Each quarter of a register is a square of 4 x 4 words, transposed in two rounds.
template <int num_bytes>
TINY_LLM_AVX512_VNNI inline void transpose(
    const std::byte* const* rows, int offset, __m512i (&columns)[4]) {
  const __m512i a = load_four<num_bytes>(rows, offset);
  const __m512i b = load_four<num_bytes>(rows + 1, offset);
  const __m512i c = load_four<num_bytes>(rows + 2, offset);
  const __m512i d = load_four<num_bytes>(rows + 3, offset);
  const __m512i ab = _mm512_unpacklo_epi32(a, b);
  const __m512i cd = _mm512_unpacklo_epi32(c, d);
  const __m512i ab_high = _mm512_unpackhi_epi32(a, b);
  const __m512i cd_high = _mm512_unpackhi_epi32(c, d);
  columns[0] = _mm512_unpacklo_epi64(ab, cd);
  columns[1] = _mm512_unpackhi_epi64(ab, cd);
  columns[2] = _mm512_unpacklo_epi64(ab_high, cd_high);
  columns[3] = _mm512_unpackhi_epi64(ab_high, cd_high);
}

/// Ask memory for a part of the next panel, whose rows follow these: for as much as 16
/// bytes of each row are, so that all of it is asked for when the last of them are read.
inline void ask_for_next(const std::byte* const* rows, int row_bytes, int offset) {
  const std::byte* const next =
      rows[0] + std::ptrdiff_t{panel_rows} * row_bytes + offset * panel_rows;
  for (int line = 0; line < 16 * panel_rows; line += 64) {
    __builtin_prefetch(next + line, 0, 2);
  }
}

/// Bytes are transposed as they are stored, and their parts taken out afterwards.
template <int bits, class Scale>
TINY_LLM_AVX512_VNNI void pack_avx512(
    const QuantizedMatrix<Scale>& w, int first_row, std::uint8_t* q) {
  const std::byte* rows[panel_rows];
  for (int r = 0; r < panel_rows; ++r) {
    rows[r] = reinterpret_cast<const std::byte*>(w.row(row_of_panel(w, first_row, r)));
  }
  constexpr int per_byte = 8 / bits;
  const int plane = block_size(w) / per_byte;
  const __m512i mask = _mm512_set1_epi8(static_cast<char>((1 << bits) - 1));
  const int row_bytes = w.num_columns / per_byte;
  int done = 0;  // bytes of the block
  for (int offset = 0; offset < row_bytes; offset += 16) {
    ask_for_next(rows, row_bytes, offset);
    // A group of 32 weights has 8 bytes with 2 bits, and may be the last of its row.
    const bool is_half = offset + 8 == row_bytes;
    __m512i columns[4];
    if (is_half) {
      transpose<8>(rows, offset, columns);
    } else {
      transpose<16>(rows, offset, columns);
    }
    for (int c = 0; c < (is_half ? 2 : 4); ++c) {
#pragma GCC unroll 4
      for (int part = 0; part < per_byte; ++part) {
        const __m512i parts = _mm512_srli_epi16(columns[c], part * bits);
        _mm512_storeu_si512(
            q + part * plane * panel_rows, _mm512_and_si512(parts, mask));
      }
      q += 4 * panel_rows;
      done += 4;
      if (done < plane) continue;
      q += (per_byte - 1) * plane * panel_rows;
      done = 0;
    }
  }
}

template <class Scale>
void pack_avx512(
    const QuantizedMatrix<Scale>& w, int first_row, std::uint8_t* q) {
  if (w.bits == 2) return pack_avx512<2>(w, first_row, q);
  if (w.bits == 4) return pack_avx512<4>(w, first_row, q);
  pack_avx512<8>(w, first_row, q);
}

/// Widen numbers that stand in the lower halves of words, or in the upper ones.
TINY_LLM_AVX512_VNNI inline __m512 widen(Float16, __m512i words, int part) {
  const __m512i halves = _mm512_srli_epi32(words, static_cast<unsigned>(16 * part));
  return _mm512_cvtph_ps(_mm512_cvtepi32_epi16(halves));
}

TINY_LLM_AVX512_VNNI inline __m512 widen(BFloat16, __m512i words, int part) {
  const __m512i halves = _mm512_srli_epi32(words, static_cast<unsigned>(16 * part));
  return _mm512_castsi512_ps(_mm512_slli_epi32(halves, 16));
}

TINY_LLM_AVX512_VNNI inline __m512 widen(float, __m512i words, int) {
  return _mm512_castsi512_ps(words);
}

/// Lay out numbers of a panel's rows, one for each group: 16 bytes of a row at once, so
/// each row has as many at least. If they are not a multiple, some are laid out twice.
template <class Scale>
TINY_LLM_AVX512_VNNI void pack_numbers_avx512(
    const Scale* const (&numbers)[panel_rows], int num_groups, float* to) {
  constexpr int per_word = 4 / sizeof(Scale);
  const std::byte* rows[panel_rows];
  for (int r = 0; r < panel_rows; ++r) {
    rows[r] = reinterpret_cast<const std::byte*>(numbers[r]);
  }
  constexpr int size = sizeof(Scale);
  for (int done = 0; done < num_groups; done += 4 * per_word) {
    ask_for_next(rows, num_groups * size, done * size);
    const int first = std::min(done, num_groups - 4 * per_word);
    __m512i columns[4];
    transpose<16>(rows, first * size, columns);
    for (int c = 0; c < 4; ++c) {
      for (int part = 0; part < per_word; ++part) {
        const int group = first + c * per_word + part;
        _mm512_storeu_ps(to + group * panel_rows, widen(Scale{}, columns[c], part));
      }
    }
  }
}

/// Lay out the scales and the biases. Returns whether there are enough of them.
template <class Scale>
TINY_LLM_AVX512_VNNI bool pack_scales_avx512(
    const QuantizedMatrix<Scale>& w, int first_row, const Panel& panel) {
  if (w.groups() * sizeof(Scale) < 16) return false;
  const Scale* scales[panel_rows];
  const Scale* biases[panel_rows];
  for (int r = 0; r < panel_rows; ++r) {
    const int row = row_of_panel(w, first_row, r);
    scales[r] = w.row_scales(row);
    biases[r] = w.row_biases(row);
  }
  pack_numbers_avx512(scales, w.groups(), panel.scales);
  pack_numbers_avx512(biases, w.groups(), panel.biases);
  return true;
}
#endif

}  // namespace detail

}  // namespace tiny_llm
