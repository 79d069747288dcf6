/// A quantised matrix times a vector that is rounded to 8 bits: the last two rungs.
///
///     y[o] = sum over groups g of  s[o, g] * x.scales[g] * dot[o, g]
///                                + b[o, g] * x.sums[g]
///     dot[o, g] = sum over the i of group g of q[o, i] * x.q[i],  in integers
///
/// x: I in 8 bits (see int8.h), for the group size and the bits of w. w: O x I (see
/// quantized_matrix.h). y: O. All are contiguous, and y overlaps neither. No group's
/// dot is above 255 * 127 * 128, which a float holds exactly.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

// What is not beside this file is in src/extensions_shared/kernels.
#include "kernels/instructions.h"
#include "kernels/int8.h"
#include "kernels/matvec_avx512.h"
#include "kernels/matvec_narrow.h"
#include "kernels/numbers.h"
#include "kernels/quantized_matrix.h"
#include "kernels/threads.h"

namespace tiny_llm {

namespace detail {

/// Multiply a block of weights by the activations that lie in the same order.
template <int bits, int size>
int dot_block(const std::uint8_t* bytes, const std::int8_t* q) {
  constexpr int plane = size * bits / 8;
  int dot = 0;
  for (int part = 0; part < 8 / bits; ++part) {
    for (int i = 0; i < plane; ++i) {
      const int weight = (bytes[i] >> (bits * part)) & ((1 << bits) - 1);
      dot += weight * q[part * plane + i];
    }
  }
  return dot;
}

/// Compute rows in plain C++.
template <int bits, int group_size, class Scale>
void matvec_portable(
    const Int8Activations& x, const QuantizedMatrix<Scale>& w, float* y, Rows rows) {
  constexpr int block = group_size < 64 ? group_size : 64;
  for (int o = rows.first; o < rows.last; ++o) {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(w.row(o));
    float sum = 0;
    for (int group = 0; group < w.groups(); ++group) {
      int dot = 0;
      for (int i = group * group_size; i < (group + 1) * group_size; i += block) {
        dot += dot_block<bits, block>(bytes + i * bits / 8, x.q + i);
      }
      const float scale = to_float(w.row_scales(o)[group]) * x.scales[group];
      sum += scale * static_cast<float>(dot);
      sum += to_float(w.row_biases(o)[group]) * x.sums[group];
    }
    y[o] = sum;
  }
}

/// Compute rows with the instructions that this processor has.
template <int bits, int group_size, class Scale>
void matvec_best(
    const Int8Activations& x, const QuantizedMatrix<Scale>& w, float* y, Rows rows) {
  if constexpr (bits != 2) {
    switch (instructions()) {
#if defined(__x86_64__)
      case Instructions::avx512_vnni:
        return matvec_avx512<bits, group_size>(x, w, y, rows);
      case Instructions::avx_vnni:
        return matvec_avx_vnni<bits, group_size>(x, w, y, rows);
      case Instructions::avx2: return matvec_avx2<bits, group_size>(x, w, y, rows);
#elif defined(__aarch64__) && defined(TINY_LLM_NEON_DOTPROD)
      case Instructions::neon_dotprod:
        return matvec_neon_dotprod<bits, group_size>(x, w, y, rows);
      case Instructions::neon: return matvec_neon<bits, group_size>(x, w, y, rows);
#elif defined(__aarch64__)
      case Instructions::neon: return matvec_neon<bits, group_size>(x, w, y, rows);
#endif
      default: break;
    }
  }
  matvec_portable<bits, group_size>(x, w, y, rows);
}

template <int bits, class Scale>
void matvec_best(
    const Int8Activations& x, const QuantizedMatrix<Scale>& w, float* y, Rows rows) {
  if (w.group_size == 32) return matvec_best<bits, 32>(x, w, y, rows);
  if (w.group_size == 64) return matvec_best<bits, 64>(x, w, y, rows);
  matvec_best<bits, 128>(x, w, y, rows);
}

/// How many pieces to cut this many bytes of weights into: as many for each thread.
///
/// Memory is slow at the beginning of a piece, until it is known what will be read next.
/// So pieces are long, but not so long that all wait for a thread that is late.
inline int num_pieces_of(std::ptrdiff_t num_bytes) {
  constexpr std::ptrdiff_t least = 16 * 1024;
  constexpr std::ptrdiff_t most = 1024 * 1024;
  const int size = threads().size();
  const std::ptrdiff_t for_each = 1 + num_bytes / (most * size);
  return static_cast<int>(
      std::clamp(num_bytes / least, std::ptrdiff_t{1}, for_each * size));
}

}  // namespace detail

/// Compute the given rows, and touch no others.
template <class Scale>
void matvec_int8(
    const Int8Activations& x, const QuantizedMatrix<Scale>& w, float* y, Rows rows) {
  if (w.bits == 2) return detail::matvec_best<2>(x, w, y, rows);
  if (w.bits == 4) return detail::matvec_best<4>(x, w, y, rows);
  detail::matvec_best<8>(x, w, y, rows);
}

/// Compute all rows, shared among the threads of the process.
template <class Scale>
void matvec_threaded(
    const Int8Activations& x, const QuantizedMatrix<Scale>& w, float* y) {
  if (w.num_rows == 0) return;
  const std::ptrdiff_t row_bytes =
      static_cast<std::ptrdiff_t>(w.num_columns) * w.bits / 8;
  const int wanted = detail::num_pieces_of(row_bytes * w.num_rows);
  const int per_piece = (w.num_rows + wanted - 1) / wanted;
  const int num_pieces = (w.num_rows + per_piece - 1) / per_piece;
  threads().run(num_pieces, [&](int piece) {
    const int first = piece * per_piece;
    matvec_int8(x, w, y, Rows{first, std::min(first + per_piece, w.num_rows)});
  });
}

}  // namespace tiny_llm
