/// A weight matrix as MLX quantises it.
///
///     w[o, i] = scales[o, g] * q[o, i] + biases[o, g],   where g = i / group_size
///
/// The integers q have `bits` bits each, and stand in words of 32 bits, the first one
/// in the lowest bits. On a machine that is little-endian, as all that MLX runs on are,
/// the bytes of a row hold them in order, with 4 bits the even one in the lower half.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tiny_llm {

/// A quantised matrix of O rows and I columns, which this struct does not own.
///
/// `Scale` is float, Float16 or BFloat16.
template <class Scale>
struct QuantizedMatrix {
  const std::uint32_t* words;  ///< O x (I * bits / 32)
  const Scale* scales;         ///< O x (I / group_size)
  const Scale* biases;         ///< O x (I / group_size)
  int num_rows;                ///< O, the outputs: 1 or more
  int num_columns;             ///< I, the inputs: 1 group or more, below 2^27
  int group_size;              ///< 32, 64 or 128
  int bits;                    ///< 2, 4 or 8

  int groups() const { return num_columns / group_size; }

  const std::uint32_t* row(int o) const {
    return words + static_cast<std::ptrdiff_t>(o) * (num_columns * bits / 32);
  }
  const Scale* row_scales(int o) const {
    return scales + static_cast<std::ptrdiff_t>(o) * groups();
  }
  const Scale* row_biases(int o) const {
    return biases + static_cast<std::ptrdiff_t>(o) * groups();
  }

  /// The integer in row `o` and column `i`.
  std::uint32_t q(int o, int i) const {
    const int per_word = 32 / bits;
    const std::uint32_t word = row(o)[i / per_word];
    return (word >> (i % per_word * bits)) & ((1u << bits) - 1u);
  }
};

/// Some rows of a matrix, one at least: those from `first` up to and without `last`.
struct Rows {
  int first;
  int last;
};

}  // namespace tiny_llm
