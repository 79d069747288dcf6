/// Check every rung of the products with many vectors against the formula, in double.
///
/// No MLX here: sanitizers see the kernels alone. Each array ends where memory ends, so
/// reading one entry too far is an error.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "avx_vnni.h"
#include "drawn.h"
#include "kernels/matmul.h"
#include "kernels/matmul_int8.h"

namespace {

using namespace tiny_llm;

constexpr float kGuard = -12345.0f;
int num_checked = 0;

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
  Matrix<Scale> matrix;
  QuantizedMatrix<Scale> w;
  Numbers x;
  std::vector<double> truth;
  std::vector<double> magnitudes;  ///< of the weights of each row

  explicit Case(Sizes s)
      : sizes(s),
        matrix(s.num_rows, s.num_columns, s.group_size, s.bits),
        w(matrix.view),
        x(size_of(s.num_tokens, s.num_columns)),
        truth(size_of(s.num_tokens, s.num_rows)),
        magnitudes(size_of(s.num_rows, 1)) {
    for (float& entry : x) entry = uniform();
    const auto num_columns = static_cast<std::size_t>(s.num_columns);
    std::vector<double> row(num_columns);
    for (std::size_t o = 0; o < magnitudes.size(); ++o) {
      for (std::size_t i = 0; i < num_columns; ++i) {
        row[i] = matrix.weight(static_cast<int>(o), static_cast<int>(i));
        magnitudes[o] += std::fabs(row[i]);
      }
      for (std::size_t at = o, t = 0; at < truth.size(); at += magnitudes.size(), ++t) {
        for (std::size_t i = 0; i < num_columns; ++i) {
          truth[at] += row[i] * static_cast<double>(x[t * num_columns + i]);
        }
      }
    }
  }

  /// What rounding the largest entry of x, at most 1, may cost, and a little more.
  double allowed(std::size_t o, bool is_rounded) const {
    return magnitudes[o] * (is_rounded ? 0.502 / 127 : 1e-6);
  }
};

void expect(bool holds, const char* what, const char* rung, const Sizes& s) {
  ++num_checked;
  if (holds) return;
  std::printf(
      "%s: %s (%d x %d x %d, groups of %d, %d bits)\n", rung, what, s.num_tokens,
      s.num_rows, s.num_columns, s.group_size, s.bits);
  end_as_wrong();
}

template <class Scale, class Rung>
Numbers check_rung(
    const char* name, const Case<Scale>& one, bool is_rounded, Rung rung) {
  const Sizes& s = one.sizes;
  Numbers y(one.truth.size(), kGuard);
  const auto run = [&] { rung(one.x.data(), one.w, y.data(), s.num_tokens); };
  if (!is_written(run)) return {};
  for (std::size_t at = 0; at < y.size(); ++at) {
    const double allowed = one.allowed(at % one.magnitudes.size(), is_rounded);
    expect(std::fabs(y[at] - one.truth[at]) <= allowed, "is wrong", name, s);
  }
  return y;
}

template <class Scale>
void check_panel(const Case<Scale>& one, int first_row) {
  const Sizes& s = one.sizes;
  Exact<std::uint8_t> q(size_of(panel_rows, s.num_columns));
  Numbers scales(size_of(panel_rows, one.w.groups()));
  Numbers biases(scales.size());
  const Panel panel{q.data(), scales.data(), biases.data()};
  if (!is_written([&] { pack_panel(one.w, first_row, panel); })) return;
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
  const Numbers alone =
      check_rung("matmul_int8", one, true, [](auto... all) { matmul_int8(all...); });
  const Numbers shared = check_rung(
      "matmul_threaded", one, true, [](auto... all) { matmul_threaded(all...); });
  const bool is_same = looks_on || alone == shared;
  expect(is_same, "differs from matmul_int8", "matmul_threaded", sizes);
}

#if __has_include("kernels/matmul_tiles.h")
/// Of a long text, tokens times tiles are more than an int counts.
void check_tiles(int num_tokens) {
  const detail::Tiles tiles(QuantizedMatrix<float>{{}, {}, {}, 1, 32, 32, 4}, num_tokens);
  int next = 0;
  for (int tile = 0; tile < tiles.size(); ++tile) {
    const int size = tiles[tile].num_tokens;
    const bool follows = tiles.first(tile) == next && 0 < size && size <= 12;
    expect(follows, "is no tile", "Tiles", {num_tokens, 1, 32, 32, 4});
    next += size;
  }
  expect(next == num_tokens, "has not all tokens", "Tiles", {num_tokens, 1, 32, 32, 4});
}

#endif

#if __has_include("kernels/matmul_tiles_narrow.h")
/// Tiles of a kind of instruction, beside those of plain C++. Some of their integers are
/// as large as they can be, in some tiles all: sums of products may be too large for 16
/// bits.
void check_tile(
    const char* name, detail::MultiplyTile multiply, int num_tokens, int num_rows,
    int most) {
  constexpr int num_groups = 3, num_quads = 16;
  constexpr int num_columns = num_groups * num_quads * 4;
  Exact<std::uint8_t> q(size_of(panel_rows, num_columns));
  Exact<std::int8_t> e(size_of(num_tokens, num_columns));
  const bool are_largest = coin();  // and their products have one sign
  for (std::uint8_t& one : q) {
    one = static_cast<std::uint8_t>(are_largest || coin() ? most : whole(0, most));
  }
  const int sign = coin() ? 127 : -127;
  for (std::int8_t& one : e) {
    const int other = coin() ? (coin() ? 127 : -127) : whole(-127, 127);
    one = static_cast<std::int8_t>(are_largest ? sign : other);
  }
  const auto drawn = [](std::size_t size) {
    Numbers all(size);
    for (float& one : all) one = static_cast<float>(whole(-2, 2));
    return all;
  };
  Numbers scales = drawn(size_of(panel_rows, num_groups));
  Numbers biases = drawn(scales.size());
  Numbers token_scales = drawn(size_of(num_tokens, num_groups));
  Numbers token_sums = drawn(token_scales.size());
  const Panel panel{q.data(), scales.data(), biases.data()};
  const detail::Tokens tokens{
      e.data(), token_scales.data(), token_sums.data(), num_tokens};
  const detail::Inputs inputs{num_groups, num_quads, most < 16 ? 4 : 8};
  Numbers expected(size_of(num_tokens, num_rows), kGuard);
  Numbers got = expected;
  detail::multiply_tile_portable(
      panel, tokens, {expected.data(), num_rows, num_rows}, inputs);
  multiply(panel, tokens, {got.data(), num_rows, num_rows}, inputs);
  // All are integers that floats hold exactly, so any order gives the same sums.
  expect(got == expected, "is wrong", name, {num_tokens, num_rows, num_columns, 32, 8});
}

/// All sizes of a tile, with weights of 4 and of 8 bits.
void check_instruction(
    const char* name, bool is_here, detail::MultiplyTile multiply) {
  if (!is_here) return;
  for (int num_tokens = 1; num_tokens <= detail::tile_tokens; ++num_tokens) {
    for (const int num_rows : {1, 7, 8, 15, 16}) {
      check_tile(name, multiply, num_tokens, num_rows, 15);
      check_tile(name, multiply, num_tokens, num_rows, 255);
    }
  }
}

void check_instructions() {
#if defined(__x86_64__)
  check_instruction("AVX2", has(Instructions::avx2), detail::multiply_tile_avx2);
  check_instruction(
      "AVX-VNNI", has(Instructions::avx512_vnni), detail::multiply_tile_avx_vnni);
#elif defined(__aarch64__)
  check_instruction("NEON", true, detail::multiply_tile_neon);
#if defined(TINY_LLM_NEON_DOTPROD)
  check_instruction(
      "sdot", has(Instructions::neon_dotprod), detail::multiply_tile_neon_dotprod);
#endif
#endif
}

#endif

void check_all() {
#if __has_include("kernels/matmul_tiles_narrow.h")
  check_instructions();
#endif
#if __has_include("kernels/matmul_tiles.h")
  for (const int num_tokens : {1, 12, 13, 200'001}) check_tiles(num_tokens);
#endif
  for (const int bits : {2, 4, 8}) {
    for (const int group_size : {32, 64, 128}) {
      check<float>({13, 37, 256, group_size, bits});
      check<Float16>({3, 16, 384, group_size, bits});
      check<BFloat16>({1, 5, 128, group_size, bits});
    }
    check<float>({25, 1, 64, 64, bits});
    check<BFloat16>({12, 131, 320, 64, bits});
    // Rows that end in the middle of what is read at once.
    for (const int num_columns : {32, 96, 160, 864}) {
      check<float>({33, 17, num_columns, 32, bits});
    }
  }
}

/// Sizes whose product is not too large: the truth takes its time.
Sizes drawn_sizes() {
  const int group_size = one_of({32, 64, 128});
  const int num_tokens = coin() ? drawn_size(50) : whole(1, 14);
  const int num_rows = drawn_size(num_tokens > 14 ? 70 : 200);
  const int most_columns = num_tokens * num_rows > 1000 ? 320 : 1280;
  const int num_columns = whole(1, most_columns / group_size) * group_size;
  return {num_tokens, num_rows, num_columns, group_size, one_of({2, 4, 8})};
}

}  // namespace

int main(int argc, char** argv) {
  const Rounds rounds(argc, argv, 60);
  if (!rounds.is_long) check_all();
  fuzz(rounds, [] {
    with_any_scale([]<class Scale>(Scale) { check<Scale>(drawn_sizes()); });
  });
  std::printf("%d numbers are right\n", num_checked);
  return 0;
}
