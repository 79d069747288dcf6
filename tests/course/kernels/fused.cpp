/// Checks the fused kernels against plain loops in double, over odd sizes.
///
/// Compiled with sanitizers: every array is as long as it has to be and no longer, so a
/// number that is read or written beside it ends the program.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "drawn.h"
#include "kernels/fused.h"
#include "kernels/threads.h"

using namespace tiny_llm;

namespace {

constexpr float untouched = -12345.0f;

int num_checks = 0;

Numbers draw(int count) { return drawn_numbers(static_cast<std::size_t>(count)); }

/// An array of its own length, in which a number that nobody writes is seen.
Numbers blank(int count) { return Numbers(static_cast<std::size_t>(count), untouched); }

void expect_near(double got, double expected, double scale, const std::string& where) {
  ++num_checks;
  if (std::abs(got - expected) <= 4e-6 * scale) return;
  std::printf("%s: expected %.9g, got %.9g\n", where.c_str(), expected, got);
  end_as_wrong();
}

float at(const Numbers& numbers, int index) {
  return numbers[static_cast<std::size_t>(index)];
}

/// What a row of a norm is to be, for rows in `rows`, and untouched for all others.
void expect_normed(
    const Numbers& x, const Norm& norm, const Numbers& y, Rows rows, int num_rows) {
  for (int row = 0; row < num_rows; ++row) {
    double squares = 0;
    for (int d = 0; d < norm.D; ++d) squares += std::pow(at(x, row * norm.D + d), 2.0);
    const double root = std::sqrt(squares / norm.D + static_cast<double>(norm.eps));
    for (int d = 0; d < norm.D; ++d) {
      const int place = row * norm.D + d;
      const bool is_ours = rows.first <= row && row < rows.last;
      const double right = at(x, place) / root * norm.weight[d];
      const double expected = is_ours ? right : static_cast<double>(untouched);
      expect_near(at(y, place), expected, std::abs(expected), "norm");
    }
  }
}

void check_norms(int num_rows, int D) {
  const Numbers x = draw(num_rows * D), residual = draw(num_rows * D);
  const Numbers weight = draw(D);
  const Norm norm{weight.data(), 1e-6f, D};
  const Rows all{0, num_rows}, some = drawn_rows(num_rows);
  for (const Rows rows : {all, some}) {
    Numbers y = blank(num_rows * D);
    if (is_written([&] { rms_norm(x.data(), norm, y.data(), rows); })) {
      expect_normed(x, norm, y, rows, num_rows);
    }

    Numbers sum = blank(num_rows * D), normed = blank(num_rows * D);
    const auto add = [&] {
      add_rms_norm(x.data(), residual.data(), norm, sum.data(), normed.data(), rows);
    };
    if (!is_written(add)) continue;
    Numbers right = x;
    for (int i = 0; i < num_rows * D; ++i) {
      right[static_cast<std::size_t>(i)] += at(residual, i);
      const bool is_ours = rows.first * D <= i && i < rows.last * D;
      const float expected = is_ours ? at(right, i) : untouched;
      expect_near(at(sum, i), expected, 0, "sum");
    }
    expect_normed(right, norm, normed, rows, num_rows);
  }
}

void check_rotation(int batch, const RotatedHeads& heads) {
  const int half = heads.D / 2, num_tokens = batch * heads.L;
  const int num_positions = heads.offset + heads.L;
  Numbers cosines = blank(num_positions * half), sines = cosines;
  // In two parts: the second must leave the first one as it is.
  const int middle = num_positions / 2;
  const auto fill = [&](Rows positions) {
    fill_rotations(500.5, heads.D, positions, cosines.data(), sines.data());
  };
  const auto fill_both = [&] {
    if (middle > 0) fill({0, middle});
    fill({middle, num_positions});
  };
  if (!is_written(fill_both)) return;
  const int size = num_tokens * heads.H * heads.D;
  const Numbers x = draw(size);
  Numbers y = blank(size);
  const Rows tokens = drawn_rows(num_tokens);
  const auto turn = [&] {
    rope(x.data(), cosines.data(), sines.data(), heads, y.data(), tokens);
  };
  if (!is_written(turn)) return;
  for (int i = 0; i < size; ++i) {
    const int channel = i % heads.D, token = i / (heads.D * heads.H);
    const int pair = channel % half, first = i - channel + pair;
    const double position = heads.offset + token % heads.L;
    const double angle = position * std::pow(500.5, -2.0 * pair / heads.D);
    const double a = at(x, first), b = at(x, first + half);
    const double right = channel < half ? a * std::cos(angle) - b * std::sin(angle)
                                        : b * std::cos(angle) + a * std::sin(angle);
    const double expected =
        tokens.first <= token && token < tokens.last ? right : untouched;
    expect_near(at(y, i), expected, std::abs(a) + std::abs(b), "rope");
  }
}

void check_gates(int count) {
  Numbers gate = draw(count), up = draw(count);
  for (float& one : gate) one *= 40;
  Numbers y = blank(count);
  const Rows numbers = drawn_rows(count);
  const auto open = [&] { swiglu(gate.data(), up.data(), y.data(), numbers); };
  if (!is_written(open)) return;
  for (int i = 0; i < count; ++i) {
    const double g = at(gate, i);
    const double right = g / (1 + std::exp(-g)) * at(up, i);
    const bool is_ours = numbers.first <= i && i < numbers.last;
    const double expected = is_ours ? right : untouched;
    expect_near(at(y, i), expected, std::abs(g * at(up, i)), "swiglu");
  }
}

/// Threads that share rows must not meet: for the sanitizer that watches threads.
void check_sharing() {
  const int num_rows = 37, D = 33;
  const Numbers x = draw(num_rows * D), weight = draw(D);
  const Norm norm{weight.data(), 1e-6f, D};
  Numbers y = blank(num_rows * D);
  ThreadPool pool(3);
  const auto normalise = [&](int row) {
    rms_norm(x.data(), norm, y.data(), Rows{row, row + 1});
  };
  if (!is_written([&] { normalise(0); })) return;
  pool.run(num_rows, normalise);
  expect_normed(x, norm, y, Rows{0, num_rows}, num_rows);
}

void check_fixed() {
  for (const int D : {1, 2, 15, 16, 17, 31, 33, 63, 64, 65, 127, 128, 130, 896}) {
    for (const int num_rows : {1, 2, 5}) check_norms(num_rows, D);
    check_gates(D);
  }
  for (const int D : {2, 6, 16, 30, 34, 64, 66}) {
    check_rotation(1, RotatedHeads{1, 1, D, 0});
    check_rotation(2, RotatedHeads{3, 2, D, 5});
    check_rotation(1, RotatedHeads{2, 14, D, 1000});
  }
  check_sharing();
}

}  // namespace

int main(int argc, char** argv) {
  const Rounds rounds(argc, argv, 100);
  if (!rounds.is_long) check_fixed();
  fuzz(rounds, [] {
    check_norms(whole(1, 9), drawn_size(2000));
    check_gates(drawn_size(3000));
    const int D = 2 * drawn_size(70);
    check_rotation(whole(1, 3), {drawn_size(20), whole(1, 9), D, drawn_size(3000)});
  });
  std::printf("%d numbers are right\n", num_checks);
  return 0;
}
