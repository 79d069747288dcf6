/// Time the rungs of log_sum_exp.h and weighted_sums.h, in the cache and in memory.
///
///     c++ -std=c++20 -O3 -ffp-contract=fast -pthread -Isrc -Isrc/extensions_shared
///         src/worked_examples/log_sum_exp.cpp -o scores
///     ./scores
///
/// Before it times a rung, it compares it with the formula in double. A pass over the
/// scores that only adds them up is timed as well: no rung can be faster.
#include "worked_examples/log_sum_exp.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>
#include <string>

#include "kernels/float_tiles.h"
#include "worked_examples/timing.h"
#include "worked_examples/weighted_sums.h"

namespace {

using namespace worked;
using tiny_llm::Instructions;

/// Random scores in both layouts, and room for weights and results.
struct Problem {
  explicit Problem(int num_rows)
      : size(num_rows),
        s(static_cast<std::size_t>(size) * static_cast<std::size_t>(size)),
        blocks(s.size()),
        room(s.size()),
        weights(num_weights * num_heads),
        query(64 * 8, 0.125f),
        products(tile * 8),
        y(std::max<std::size_t>(static_cast<std::size_t>(size), num_heads * width)),
        scores{s.data(), blocks.data(), room.data(), size, size} {
    std::mt19937 random(7);
    std::normal_distribution<float> normal;
    for (float& one : s) one = normal(random);
    for (float& one : weights) one = normal(random);
    for (int o = 0; o < size; ++o) {
      for (int j = 0; j < size; ++j) {
        const int row = o % rows_of_block;
        const std::ptrdiff_t at = scores.begin(o - row) + j * rows_of_block + row;
        blocks[static_cast<std::size_t>(at)] =
            s[static_cast<std::size_t>(scores.begin(o) + j)];
      }
    }
  }

  int num_values() const { return static_cast<int>(s.size() / width); }

  int size;
  std::vector<float> s, blocks, room, weights, query, products, y;
  Scores scores;
};

/// What a rung computes: log-sum-exps of rows, of parts of rows, or of all scores in
/// one row; sums of values; or what is not checked here.
enum class Kind { rows, triangle, long_row, heads, unchecked };

/// A way to compute, and whether threads share it.
struct Rung {
  std::string name;
  Kind kind;
  std::function<void(Problem&)> compute;
  Time time = Time::of_this_thread;
};

using RowsOf = void (*)(const Scores&, float*, Rows);

Rung of_rows(const char* name, RowsOf rows_of, Kind kind = Kind::rows) {
  return {name, kind, [=](Problem& one) {
            rows_of(one.scores, one.y.data(), Rows{0, one.size});
          }};
}

Rung in_pieces(const std::string& name, int num_pieces) {
  return {name, Kind::long_row, [=](Problem& one) {
            const auto n = static_cast<std::ptrdiff_t>(one.s.size());
            one.y[0] = row_in_pieces(one.s.data(), n, num_pieces);
          }, Time::passing};
}

using HeadsOf = void (*)(const float*, int, const float*, float*);

Rung of_heads(const char* name, HeadsOf heads_of) {
  return {name, Kind::heads, [=](Problem& one) {
            heads_of(one.s.data(), one.num_values(), one.weights.data(), one.y.data());
          }};
}

/// The products of all scores, taken as keys of width 64, with eight queries.
Rung of_products(const char* name, bool asks_ahead) {
  return {name, Kind::unchecked, [=](Problem& one) {
            constexpr int keys = tile, depth = 64, queries = 8;
            constexpr std::ptrdiff_t numbers = keys * depth;
            const float* const end = one.s.data() + one.s.size();
            for (const float* k = one.s.data(); k < end; k += numbers) {
              const bool is_last = k + 2 * numbers > end;
              const std::ptrdiff_t ahead = asks_ahead && !is_last ? numbers : 0;
              std::fill(one.products.begin(), one.products.end(), 0.0f);
              tiny_llm::multiply_add(
                  {k, depth, ahead}, {one.query.data(), queries},
                  {one.products.data(), queries}, keys, queries, depth);
            }
          }};
}

/// Add up all numbers in many lanes: nothing but reading.
Rung reading() {
  return {"reading", Kind::unchecked, [](Problem& one) {
            std::uint64_t sums[8] = {};
            const auto n = static_cast<std::ptrdiff_t>(one.s.size());
            for (std::ptrdiff_t i = 0; i < n; i += 16) {
              std::uint64_t numbers[8];
              std::memcpy(numbers, one.s.data() + i, sizeof(numbers));
              for (int k = 0; k < 8; ++k) sums[k] += numbers[k];
            }
            for (const std::uint64_t sum : sums) {
              one.y[0] += static_cast<float>(sum & 1u);
            }
          }};
}

/// The rungs that this processor can climb.
std::vector<Rung> rungs() {
  std::vector<Rung> found = {
      of_rows("written down", rows_written_down),
      of_rows("online", rows_online),
      of_rows("tile by tile", rows_tile_by_tile),
      of_rows("polynomial", rows_with_polynomial),
      of_rows("scores in 4 lanes", scores_in_4_lanes),
      of_rows("rows in 4 lanes", rows_in_4_lanes),
  };
#if defined(__x86_64__)
  if (tiny_llm::has(Instructions::avx2)) {
    found.push_back(of_rows("scores in 8 lanes", scores_in_8_lanes));
    found.push_back(of_rows("rows in 8 lanes", rows_in_8_lanes));
  }
  if (tiny_llm::has(Instructions::avx512_vnni)) {
    found.push_back(of_rows("scores in 16 lanes", scores_in_16_lanes));
    found.push_back(of_rows("rows in 16 lanes", rows_in_16_lanes));
  }
#endif
  found.push_back(of_rows("lanes, written down", lanes_written_down));
  found.push_back(of_rows("triangle", rows_of_triangle, Kind::triangle));
  found.push_back(in_pieces("one piece", 1));
  found.push_back(in_pieces("pieces, all cores", 4 * tiny_llm::threads().size()));
  found.push_back(of_heads("heads one by one", heads_one_by_one));
  found.push_back(of_heads("heads together", heads_together));
  found.push_back(of_products("keys", false));
  found.push_back(of_products("keys, asked for", true));
  found.push_back(reading());
  return found;
}

/// Return the log of the sum of e^s, in double.
double formula(const float* s, std::ptrdiff_t n) {
  const double top = *std::max_element(s, s + n);
  double total = 0;
  for (std::ptrdiff_t j = 0; j < n; ++j) total += std::exp(s[j] - top);
  return top + std::log(total);
}

/// Stop unless a number is right.
void compare(const Rung& rung, const char* what, int number, float got, double right) {
  if (std::fabs(got - right) <= 1e-4 + 1e-5 * std::fabs(right)) return;
  std::printf("%s: %s %d is %g, not %g\n", rung.name.c_str(), what, number,
              static_cast<double>(got), right);
  std::exit(1);
}

/// Return the sum of one number of all values, weighted for one head.
double weighted_sum(const Problem& one, int head, int d) {
  double sum = 0;
  for (int j = 0; j < one.num_values(); ++j) {
    const int weight = j % num_weights * num_heads + head;
    sum += double{one.weights[static_cast<std::size_t>(weight)]} *
           one.s[static_cast<std::size_t>(j * width + d)];
  }
  return sum;
}

/// Stop unless each row is right.
void check_rows(const Rung& rung, const Problem& one) {
  for (int o = 0; o < one.size; ++o) {
    const int seen = rung.kind == Kind::triangle ? o + 1 : one.size;
    const double right = formula(one.s.data() + one.scores.begin(o), seen);
    compare(rung, "row", o, one.y[static_cast<std::size_t>(o)], right);
  }
}

/// Stop unless each sum of values is right.
void check_heads(const Rung& rung, const Problem& one) {
  for (int at = 0; at < num_heads * width; ++at) {
    const double right = weighted_sum(one, at / width, at % width);
    compare(rung, "sum", at, one.y[static_cast<std::size_t>(at)], right);
  }
}

/// Stop unless a rung agrees with the formula.
void check(const Rung& rung, Problem& one) {
  std::fill(one.y.begin(), one.y.end(), 0.0f);
  rung.compute(one);
  const auto n = static_cast<std::ptrdiff_t>(one.s.size());
  switch (rung.kind) {
    case Kind::rows:
    case Kind::triangle: return check_rows(rung, one);
    case Kind::long_row:
      return compare(rung, "row", 0, one.y[0], formula(one.s.data(), n));
    case Kind::heads: return check_heads(rung, one);
    case Kind::unchecked: return;
  }
}

void time_all(const char* where, Problem& one, int num_rounds, int repeats) {
  const auto run = [&](const Rung& rung) { rung.compute(one); };
  time_in_turns(where, rungs(), num_rounds, repeats, run);
}

}  // namespace

int main(int count, char** arguments) {
  const bool is_brief = count > 1 && std::strcmp(arguments[1], "--brief") == 0;
  Problem small(256);
  for (const Rung& rung : rungs()) check(rung, small);
  if (is_brief) return 0;
  print_header();
  print("a thousand cycles", "", 1000 * cycle_ns());
  time_all("cache", small, 40, 20);
  // 67 MB of scores do not stay in any cache.
  Problem large(4096);
  time_all("memory", large, 20, 1);
}
