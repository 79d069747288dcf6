/// Check every rung of the products with many vectors against the formula, in double.
///
/// No MLX here: sanitizers see the kernels alone. Each array ends where its memory ends,
/// so reading one entry too far is an error, and y has guards on both sides.
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "kernels/matmul.h"
#include "kernels/matmul_int8.h"

namespace {

using namespace tiny_llm;

constexpr float kGuard = -12345.0f;
std::mt19937 random_bits(5);
int num_checked = 0;

float uniform() { return static_cast<float>(random_bits()) * 0x1p-31f - 1.0f; }

void store(float number, float& to) { to = number; }

void store(float number, BFloat16& to) {
  to.bits = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(number) >> 16);
}

/// Cut off: for numbers between 2**-14 and 1 there is no more to it.
void store(float number, Float16& to) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(number);
  const std::uint32_t rest = (bits & 0x7fffffffu) - (112u << 23);
  to.bits = static_cast<std::uint16_t>((bits >> 16 & 0x8000u) | rest >> 13);
}

std::size_t size_of(int rows, int columns) {
  return static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns);
}

struct Sizes {
  int num_tokens;
  int num_rows;
  int num_columns;
  int group_size;
  int bits;
};

template <class Scale>
struct Case {
  Sizes sizes;
  std::vector<std::uint32_t> words;
  std::vector<Scale> scales;
  std::vector<Scale> biases;
  std::vector<float> x;
  QuantizedMatrix<Scale> w;

  explicit Case(Sizes s)
      : sizes(s),
        words(size_of(s.num_rows, s.num_columns * s.bits / 32)),
        scales(size_of(s.num_rows, s.num_columns / s.group_size)),
        biases(scales.size()),
        x(size_of(s.num_tokens, s.num_columns)),
        w{words.data(), scales.data(), biases.data(), s.num_rows,
          s.num_columns, s.group_size, s.bits} {
    for (std::uint32_t& word : words) word = static_cast<std::uint32_t>(random_bits());
    for (Scale& scale : scales) store(0.01f * (1.5f + uniform()), scale);
    for (Scale& bias : biases) store(0.1f * (1.5f + uniform()), bias);
    for (float& entry : x) entry = uniform();
  }

  double weight(int o, int i) const {
    const int group = i / w.group_size;
    return static_cast<double>(to_float(w.row_scales(o)[group])) * w.q(o, i) +
           static_cast<double>(to_float(w.row_biases(o)[group]));
  }

  /// What rounding the largest entry of x, at most 1, may cost, and a little more.
  double allowed(int o, bool is_rounded) const {
    double sum = 0;
    for (int i = 0; i < w.num_columns; ++i) {
      sum += std::fabs(weight(o, i)) * (is_rounded ? 0.502 / 127 : 1e-6);
    }
    return sum;
  }
};

void expect(bool holds, const char* what, const char* rung, const Sizes& s) {
  ++num_checked;
  if (holds) return;
  std::printf(
      "%s: %s (%d x %d x %d, groups of %d, %d bits)\n", rung, what, s.num_tokens,
      s.num_rows, s.num_columns, s.group_size, s.bits);
  std::exit(1);
}

template <class Scale, class Rung>
std::vector<float> check_rung(
    const char* name, const Case<Scale>& one, bool is_rounded, Rung rung) {
  const Sizes& s = one.sizes;
  std::vector<float> y(size_of(s.num_tokens, s.num_rows) + 2, kGuard);
  rung(one.x.data(), one.w, y.data() + 1, s.num_tokens);
  expect(y.front() == kGuard && y.back() == kGuard, "wrote beside y", name, s);
  for (int o = 0; o < s.num_rows; ++o) {
    const double allowed = one.allowed(o, is_rounded);
    for (int t = 0; t < s.num_tokens; ++t) {
      double truth = 0;
      for (int i = 0; i < s.num_columns; ++i) {
        const float entry = one.x[size_of(t, s.num_columns) + static_cast<std::size_t>(i)];
        truth += one.weight(o, i) * static_cast<double>(entry);
      }
      const float got = y[size_of(t, s.num_rows) + static_cast<std::size_t>(o) + 1];
      expect(std::fabs(got - truth) <= allowed, "is wrong", name, s);
    }
  }
  return y;
}

template <class Scale>
void check_panel(const Case<Scale>& one, int first_row) {
  const Sizes& s = one.sizes;
  std::vector<std::uint8_t> q(size_of(panel_rows, s.num_columns));
  std::vector<float> scales(size_of(panel_rows, one.w.groups()));
  std::vector<float> biases(scales.size());
  pack_panel(one.w, first_row, {q.data(), scales.data(), biases.data()});
  const int block = std::min(s.group_size, 64);
  const int per_byte = 8 / s.bits;
  for (int r = 0; r < panel_rows && first_row + r < s.num_rows; ++r) {
    for (int i = 0; i < s.num_columns; ++i) {
      const int in_block = i % block;
      const int place =
          i - in_block + in_block % per_byte * (block / per_byte) + in_block / per_byte;
      const int at = (place / 4 * panel_rows + r) * 4 + place % 4;
      const bool same = q[static_cast<std::size_t>(at)] == one.w.q(first_row + r, i);
      expect(same, "has another integer", "pack_panel", s);
    }
  }
}

template <class Scale>
void check(const Sizes& sizes) {
  const Case<Scale> one(sizes);
  for (int row = 0; row < sizes.num_rows; row += panel_rows) check_panel(one, row);
  check_rung("matmul_naive", one, false, [](auto... all) { matmul_naive(all...); });
  check_rung("matmul_blocked", one, false, [](auto... all) { matmul_blocked(all...); });
  const std::vector<float> alone =
      check_rung("matmul_int8", one, true, [](auto... all) { matmul_int8(all...); });
  const std::vector<float> shared = check_rung(
      "matmul_threaded", one, true, [](auto... all) { matmul_threaded(all...); });
  expect(alone == shared, "differs from matmul_int8", "matmul_threaded", sizes);
}

}  // namespace

int main() {
  for (const int bits : {2, 4, 8}) {
    for (const int group_size : {32, 64, 128}) {
      check<float>({13, 37, 256, group_size, bits});
      check<Float16>({3, 16, 384, group_size, bits});
      check<BFloat16>({1, 5, 128, group_size, bits});
    }
    check<float>({25, 1, 64, 64, bits});
    check<BFloat16>({12, 131, 320, 64, bits});
    check<float>({0, 16, 64, 64, bits});
    // Rows that end in the middle of what is read at once.
    for (const int num_columns : {32, 96, 160, 864}) {
      check<float>({33, 17, num_columns, 32, bits});
    }
  }
  std::printf("%d numbers are right\n", num_checked);
}
