/// Time the neighbours of passes.h, where they stay in the cache and in memory.
///
///     c++ -std=c++20 -O3 -ffp-contract=fast -pthread -Isrc -Isrc/extensions_shared
///         src/worked_examples/passes.cpp -o passes
///     ./passes
///
/// Compile it with -fno-trapping-math as well, as the kernels are, and compare the bells.
/// Before it times anything, it compares each way with its formula in double.
#include "worked_examples/passes.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "worked_examples/timing.h"

namespace {

using namespace worked;
using Numbers = std::vector<float>;

/// A way to do some work. It says itself whether its last result was right.
struct Way {
  std::string name;
  std::function<void()> run;
  std::function<bool()> is_right = [] { return true; };
  Time time = Time::of_this_thread;
};

std::size_t size(int n) { return static_cast<std::size_t>(n); }

Numbers random_numbers(int n) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  Numbers found(size(n));
  for (float& one : found) one = normal(random);
  return found;
}

bool is_near(double found, double right) {
  return std::fabs(found - right) <= 1e-4 * (1 + std::fabs(right));
}

/// Rows to blend.
struct Rows {
  static constexpr int D = 896;

  explicit Rows(int num_rows)
      : x(random_numbers(num_rows * D)),
        y(x.rbegin(), x.rend()),
        scaled(x.size()),
        z(x.size()),
        mean(size(num_rows)),
        variance(size(num_rows)),
        blend{0.5f, x.data(), y.data(), scaled.data(), z.data(),
              mean.data(), variance.data(), num_rows, D} {}

  /// Compare with the formulas, in double, and forget the results.
  bool is_right() {
    bool all = true;
    for (std::size_t r = 0; r < mean.size(); ++r) {
      double sum = 0, squares = 0;
      for (std::size_t i = r * D; i < (r + 1) * D; ++i) {
        const double one = 0.5 * double{x[i]} + double{y[i]};
        all = all && is_near(z[i], one);
        sum += one;
        squares += one * one;
      }
      all = all && is_near(mean[r], sum / D) &&
            is_near(variance[r], squares / D - sum / D * (sum / D));
    }
    for (Numbers* one : {&scaled, &z, &mean, &variance}) one->assign(one->size(), 0);
    return all;
  }

  std::vector<Way> ways() {
    const auto way = [this](const char* name, void (*compute)(const Blend&)) {
      return Way{name, [=, this] { compute(blend); }, [this] { return is_right(); }};
    };
    return {
        way("blend, operations", blend_by_operations),
        way("blend, lanes", blend_in_lanes),
        way("blend, row by row", blend_row_by_row),
        way("blend, one loop", blend_in_one_loop),
        way("blend, wide", blend_wide),
    };
  }

  Numbers x, y, scaled, z, mean, variance;
  Blend blend;
};

/// Numbers for the bell and the window: 4 frames of 1,216.
struct Curves {
  static constexpr int num_frames = 4, N = 1216, count = num_frames * N;

  Way bell(const char* name, void (*compute)(const float*, float*, int)) {
    const auto is_right = [this] {
      bool all = true;
      for (std::size_t i = 0; i < x.size(); ++i) {
        all = all && is_near(y[i], std::exp(-double{x[i]} * double{x[i]}));
      }
      y.assign(y.size(), 0);
      return all;
    };
    return {name, [=, this] { compute(x.data(), y.data(), count); }, is_right};
  }

  Way window(const char* name, const std::function<void(const Frames&)>& compute) {
    const auto is_right = [this] {
      bool all = true;
      for (std::size_t i = 0; i < x.size(); ++i) {
        const double angle = 2 * std::numbers::pi * static_cast<double>(i % N) / N;
        all = all && is_near(y[i], double{x[i]} * (0.5 - 0.5 * std::cos(angle)));
      }
      y.assign(y.size(), 0);
      return all;
    };
    const Frames frames{x.data(), y.data(), num_frames, N};
    return {name, [=] { compute(frames); }, is_right};
  }

  std::vector<Way> ways() {
    const auto tabled = [this](const Frames& f) { window_from_table(f, table.data()); };
    return {
        bell("bell, called", bell_called),
        bell("bell, inlined", bell_inlined),
        bell("bell, wide", bell_wide),
        window("window, computed", window_computed),
        window("window, from a table", tabled),
    };
  }

  Numbers x = random_numbers(count), y = Numbers(x.size()), table = window_table(N);
};

/// Small arrays to add up on all cores: 8 of 64 KB.
struct SmallArrays {
  static constexpr int count = 8, length = 16384;

  SmallArrays() {
    for (int array = 0; array < count; ++array) {
      arrays.each.push_back(x.data() + array * length);
    }
  }

  bool is_right() {
    double right = 0, found = 0;
    for (const float one : x) right += double{one};
    for (float& one : sums) found += double{std::exchange(one, 0)};
    return std::fabs(found - right) < 0.01;
  }

  std::vector<Way> ways() {
    const auto way = [this](const char* name, void (*compute)(const Arrays&)) {
      return Way{name, [=, this] { compute(arrays); }, [this] { return is_right(); },
                 Time::passing};
    };
    return {way("sums, one core", sums_on_one_core),
            way("sums, eight rounds", sums_in_rounds),
            way("sums, one round", sums_in_one_round)};
  }

  Numbers x = random_numbers(count * length), sums = Numbers(count * num_pieces);
  static constexpr int num_pieces = 4;
  Arrays arrays{{}, length, num_pieces, sums.data()};
};

/// Stop unless each way does what its formula says.
void check(const std::vector<Way>& all) {
  for (const Way& way : all) {
    way.run();
    if (!way.is_right()) {
      std::printf("%s: another result than the formula\n", way.name.c_str());
      std::exit(1);
    }
  }
}

void time_all(
    const char* where, const std::vector<Way>& all, int num_rounds, int repeats) {
  time_in_turns(where, all, num_rounds, repeats, [](const Way& way) { way.run(); });
}

}  // namespace

int main(int count, char** arguments) {
  const bool is_brief = count > 1 && std::strcmp(arguments[1], "--brief") == 0;
  // Of the blend: a row for one token, and 9,362 that no cache holds.
  Rows token(1), few(3);
  Curves curves;
  SmallArrays arrays;
  check(few.ways());
  check(curves.ways());
  check(arrays.ways());
  if (is_brief) return 0;
  Rows many(9362);
  print_header();
  print("a thousand cycles", "", 1000 * cycle_ns());
  time_all("cache", token.ways(), 200, 200);
  time_all("memory", many.ways(), 20, 1);
  time_all("cache", curves.ways(), 60, 10);
  time_all("cache", arrays.ways(), 400, 10);
}
