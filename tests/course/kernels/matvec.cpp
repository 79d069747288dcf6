/// Check every rung of the matrix-vector products against the formula, in double.
///
/// No MLX here: sanitizers see the kernels alone. Each array ends where memory ends, so
/// reading one entry too far is an error. The entries of y that are not asked for
/// must stay as they are.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "avx_vnni.h"
#include "drawn.h"
#if defined(__x86_64__) && __has_include("kernels/matvec_narrow.h")
#define HAS_NARROW
#endif
#include "kernels/int8.h"
#include "kernels/matvec.h"
#include "kernels/matvec_int8.h"

namespace {

using namespace tiny_llm;

constexpr float kGuard = -12345.0f;

void expect(bool holds, const char* what, const char* rung, int a, int b, int c) {
  if (holds) return;
  std::printf("%s: %s (%d, %d, %d)\n", rung, what, a, b, c);
  end_as_wrong();
}

/// Run a rung on some rows in the middle, and compare these with `truth`.
template <class Scale, class Rung>
void check_rung(
    const char* name, const Matrix<Scale>& w, const std::vector<double>& truth,
    double tolerance, Rows rows, Rung rung) {
  Numbers y(truth.size(), kGuard);
  if (!is_written([&] { rung(y.data(), rows); })) return;
  const auto& v = w.view;
  for (int o = 0; o < v.num_rows; ++o) {
    const float got = y[static_cast<std::size_t>(o)];
    const bool is_ours = o >= rows.first && o < rows.last;
    if (!is_ours) {
      expect(got == kGuard, "wrote beside its rows", name, v.bits, v.group_size, o);
      continue;
    }
    const double off = std::fabs(got - truth[static_cast<std::size_t>(o)]);
    expect(off <= tolerance, "is wrong", name, v.bits, v.group_size, o);
  }
}

/// The activations as the rounded ones say they are, in the order of x.
std::vector<double> unrounded(const Int8Activations& x) {
  std::vector<double> wide(static_cast<std::size_t>(x.num_columns));
  const int per_byte = 8 / x.bits;
  const int plane = x.block_size() / per_byte;
  for (int i = 0; i < x.num_columns; ++i) {
    const int in_block = i % x.block_size();
    const int at = i - in_block + in_block % per_byte * plane + in_block / per_byte;
    wide[static_cast<std::size_t>(i)] =
        static_cast<double>(x.scales[i / x.group_size]) * x.q[at];
  }
  return wide;
}

/// The weights of a matrix, row by row.
template <class Scale>
std::vector<double> weights(const Matrix<Scale>& w) {
  std::vector<double> all(size_of(w.view.num_rows, w.view.num_columns));
  double* next = all.data();
  for (int o = 0; o < w.view.num_rows; ++o) {
    for (int i = 0; i < w.view.num_columns; ++i) *next++ = w.weight(o, i);
  }
  return all;
}

/// The products of these weights with x.
std::vector<double> products(
    const std::vector<double>& weights, const std::vector<double>& x) {
  std::vector<double> y(weights.size() / x.size());
  const double* row = weights.data();
  for (double& sum : y) {
    for (const double one : x) sum += *row++ * one;
  }
  return y;
}

#if defined(HAS_NARROW)
/// Call `matvec_avx_vnni` for weights of this format.
template <class Scale>
void matvec_avx_vnni_of_any(
    const Int8Activations& x, const QuantizedMatrix<Scale>& w, float* y, Rows rows) {
  const auto with_bits = [&]<int bits>() {
    if (w.group_size == 32) return detail::matvec_avx_vnni<bits, 32>(x, w, y, rows);
    if (w.group_size == 64) return detail::matvec_avx_vnni<bits, 64>(x, w, y, rows);
    detail::matvec_avx_vnni<bits, 128>(x, w, y, rows);
  };
  if (w.bits == 4) return with_bits.template operator()<4>();
  with_bits.template operator()<8>();
}
#endif

template <class Scale>
void check(int num_rows, int num_columns, int group_size, int bits) {
  const Matrix<Scale> w(num_rows, num_columns, group_size, bits);
  Numbers x(static_cast<std::size_t>(num_columns));
  for (float& one : x) one = uniform();
  // A group of which nothing is left beside the others.
  const int first_group = std::min(group_size, num_columns);
  for (int i = 0; i < first_group; ++i) x[static_cast<std::size_t>(i)] *= 1e-20f;
  const std::vector<double> exact(x.begin(), x.end());

  const std::vector<double> wide = weights(w);
  const std::vector<double> truth = products(wide, exact);
  const Rows all{0, num_rows};
  const Rows some = drawn_rows(num_rows);
  for (const Rows rows : {all, some}) {
    check_rung("naive", w, truth, 1e-3, rows, [&](float* y, Rows r) {
      matvec_naive(x.data(), w.view, y, r);
    });
    check_rung("blocked", w, truth, 1e-3, rows, [&](float* y, Rows r) {
      matvec_blocked(x.data(), w.view, y, r);
    });
    check_rung("simd", w, truth, 1e-3, rows, [&](float* y, Rows r) {
      matvec_simd(x.data(), w.view, y, r);
    });
  }

  Int8Buffer buffer;
  Int8Activations rounded;
  const bool has_rounding = is_written(
      [&] { rounded = buffer.round(x.data(), num_columns, group_size, bits); });
  if (!has_rounding) return;
  const std::vector<double> close = products(wide, unrounded(rounded));
  for (const Rows rows : {all, some}) {
    check_rung("int8", w, close, 1e-3, rows, [&](float* y, Rows r) {
      matvec_int8(rounded, w.view, y, r);
    });
#if defined(HAS_NARROW)
    if (bits != 2 && instructions() == Instructions::avx512_vnni) {
      check_rung("avx_vnni", w, close, 1e-3, rows, [&](float* y, Rows r) {
        matvec_avx_vnni_of_any(rounded, w.view, y, r);
      });
    }
#endif
  }
  check_rung("threaded", w, close, 1e-3, all, [&](float* y, Rows) {
    matvec_threaded(rounded, w.view, y);
  });
}

/// Rounding: the largest becomes 127, a group of zeros stays zero, and so does nothing.
void check_rounding() {
  std::vector<float> x(128, 0.0f);
  for (int i = 0; i < 32; ++i) x[static_cast<std::size_t>(i)] = static_cast<float>(-4 * i);
  for (int i = 64; i < 96; ++i) x[static_cast<std::size_t>(i)] = 0x1p-140f;
  x[96] = 3e38f;
  Int8Buffer buffer;
  const Int8Activations to = buffer.round(x.data(), 128, 32, 8);
  expect(to.q[31] == -127, "is not -127", "rounding", to.q[31], 0, 0);
  expect(to.q[1] == -4, "is not -4", "rounding", to.q[1], 0, 0);
  expect(to.scales[1] == 0 && to.q[40] == 0, "is not 0", "rounding", to.q[40], 0, 0);
  expect(to.q[64] == 0 || to.scales[2] > 0, "is not 0", "rounding", to.q[64], 0, 0);
  expect(to.q[96] == 127 && to.q[97] == 0, "is not 127", "rounding", to.q[96], 0, 0);
}

/// Each piece once, however many there are, and many rounds in a row.
void check_threads() {
  for (int round = 0; round < 200; ++round) {
    const int num_pieces = round % 9;
    std::vector<int> times(static_cast<std::size_t>(num_pieces), 0);
    threads().run(num_pieces, [&](int piece) { ++times[static_cast<std::size_t>(piece)]; });
    for (const int one : times) expect(one == 1, "not once", "threads", one, 0, 0);
  }
}

template <class Scale>
void check_all() {
  for (const int bits : {2, 4, 8}) {
    for (const int group_size : {32, 64, 128}) {
      for (const int groups : {1, 2, 3, 7, 16, 17}) {
        for (const int num_rows : {1, 3, 4, 17}) {
          check<Scale>(num_rows, groups * group_size, group_size, bits);
        }
      }
      check<Scale>(300, 4 * group_size, group_size, bits);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const Rounds rounds(argc, argv, 60);
  if (!rounds.is_long) {
    is_written(check_rounding);
    check_threads();
    check_all<float>();
    check_all<Float16>();
    check_all<BFloat16>();
  }
  fuzz(rounds, [] {
    with_any_scale([]<class Scale>(Scale) {
      const int group_size = one_of({32, 64, 128});
      // Some have enough rows for several threads.
      const int num_rows = coin() ? drawn_size(40) : whole(1, 600);
      const int most_groups = (num_rows > 40 ? 512 : 1280) / group_size;
      const int num_groups = whole(1, most_groups);
      check<Scale>(num_rows, num_groups * group_size, group_size, one_of({2, 4, 8}));
    });
  });
  for (const auto& [one, name] : all_instructions) {
    if (one == instructions()) std::printf("%s: ", name.data());
  }
  std::printf("all are right\n");
  return 0;
}
