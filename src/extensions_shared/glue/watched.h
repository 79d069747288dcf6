/// How a kernel is watched: what it reads and writes lies between zones that nobody may
/// write to.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <mlx/array.h>

#include "kernels/quantized_matrix.h"

namespace tiny_llm {

/// Tell whether kernels are watched, as they are in the tests: TINY_LLM_WATCH is 1.
bool are_watched();

/// An array whose memory has a zone before it and one behind it.
///
/// The zones are NaN, of a kind that no kernel can compute, and so it shows if one writes
/// there; the array is NaN, too, until somebody fills it.
class Zoned {
 public:
  /// Make room for an array that is to be written.
  Zoned(std::string name, const mlx::core::Shape& shape, mlx::core::Dtype dtype);

  /// Copy an evaluated array, to be read, with its strides. Between its entries there is
  /// NaN.
  Zoned(std::string name, const mlx::core::array& x);

  const mlx::core::array& array() const { return array_; }

  /// Fail if a zone has changed. Throws std::runtime_error, with `where` in front.
  void expect_zones(const std::string& where) const;

  /// Likewise, if anything has: of what is to be read only.
  void expect_unchanged(const std::string& where) const;

 private:
  Zoned(
      std::string name, mlx::core::array array, mlx::core::Strides strides,
      std::uint16_t beside);

  std::string name_;
  mlx::core::array array_;
  std::byte* memory_;        ///< a zone, the array, a zone
  std::size_t num_bytes_;    ///< of the array, from its first entry to its last one
  std::vector<std::byte> handed_over_;
};

/// The entries of some outputs, to see whether rows change that should not.
class RowsBefore {
 public:
  RowsBefore(const std::vector<mlx::core::array>& outputs, int num_rows);

  /// Fail if rows other than these have changed.
  void expect_others_unchanged(const std::string& where, Rows rows) const;

 private:
  const std::vector<mlx::core::array>& outputs_;
  int num_rows_;
  std::vector<std::vector<std::byte>> bytes_;
};

/// Let `work` do all rows of some outputs.
///
/// If it is watched, it does them in parts, and no part may touch the rows of another.
template <class Work>
void do_rows(
    const std::string& where,
    int num_rows,
    const std::vector<mlx::core::array>& outputs,
    const Work& work) {
  if (!are_watched() || num_rows == 1) return work(Rows{0, num_rows});
  const int begin = num_rows / 3;
  const int end = std::max(begin + 1, num_rows - num_rows / 3);
  for (const Rows part : {Rows{begin, end}, Rows{end, num_rows}, Rows{0, begin}}) {
    if (part.first == part.last) continue;
    const RowsBefore before(outputs, num_rows);
    work(part);
    before.expect_others_unchanged(where, part);
  }
}

}  // namespace tiny_llm
