/// Week 2, Day 5: a matrix times the vectors of 48 tokens, operations on numbers.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/matmul.h"
#include "kernels/matmul_int8.h"
#include "kernels/panel.h"
#include "matrix.h"

namespace {

constexpr int num_rows = 896, num_columns = 896, num_tokens = 48;
speed::Matrices matrices(num_rows, num_columns, 8);
const std::vector<float> x = speed::numbers(num_columns * num_tokens);
std::vector<float> y(num_rows * num_tokens);
std::vector<std::uint8_t> q(tiny_llm::panel_rows * num_columns);
std::vector<float> scales(tiny_llm::panel_rows * num_columns / 64);
std::vector<float> biases = scales;
const tiny_llm::Panel panel{q.data(), scales.data(), biases.data()};

/// One entry after the other, to the place that `pack_panel` promises.
void pack_plain(const speed::Matrix& w) {
  for (int r = 0; r < tiny_llm::panel_rows; ++r) {
    for (int place = 0; place < num_columns; ++place) {
      const int inside = place % 64;
      const int column = place - inside + inside % 32 * 2 + inside / 32;
      panel.q[(place / 4 * 16 + r) * 4 + place % 4] =
          static_cast<std::uint8_t>(w.q(r, column));
    }
    for (int g = 0; g < w.groups(); ++g) {
      panel.scales[g * 16 + r] = w.row_scales(r)[g];
      panel.biases[g * 16 + r] = w.row_biases(r)[g];
    }
  }
}

}  // namespace

KERNEL(
    matmul_naive,
    tiny_llm::matmul_naive(x.data(), matrices.next(), y.data(), num_tokens))
KERNEL(
    matmul_blocked,
    tiny_llm::matmul_blocked(x.data(), matrices.next(), y.data(), num_tokens))
KERNEL(pack_plain, pack_plain(matrices.next()))
KERNEL(pack_panel, tiny_llm::pack_panel(matrices.next(), 0, panel))
KERNEL(
    matmul_int8, tiny_llm::matmul_int8(x.data(), matrices.next(), y.data(), num_tokens))
KERNEL(
    matmul_threaded,
    tiny_llm::matmul_threaded(x.data(), matrices.next(), y.data(), num_tokens))

int main() {
  const double work = 2.0 * num_rows * num_columns * num_tokens;
  const double touched = matrices.bytes() + 4.0 * num_tokens * (num_rows + num_columns);
  const double packed = matrices.bytes() * tiny_llm::panel_rows / num_rows;
  return speed::serve({
      {"matmul_naive", run_matmul_naive, work, touched},
      {"matmul_blocked", run_matmul_blocked, work, touched},
      {"pack_plain", run_pack_plain, packed},
      {"pack_panel", run_pack_panel, packed},
      {"matmul_int8", run_matmul_int8, work, touched},
      {"matmul_threaded", run_matmul_threaded, work, touched},
  });
}
