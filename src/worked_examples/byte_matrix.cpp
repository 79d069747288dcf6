/// Time the rungs of byte_matrix.h: on a matrix in the cache, and on one in memory.
///
///     c++ -std=c++20 -O3 -ffp-contract=fast -pthread -Isrc -Isrc/extensions_shared
///         src/worked_examples/byte_matrix.cpp -o bytes
///     ./bytes
///
/// Before it times a rung, it compares it with the formula in double. A pass over the
/// bytes in memory that only adds them up is timed as well: no rung can be faster.
/// To round x is not part of a time.
#include "worked_examples/byte_matrix.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>
#include <string>

#include "worked_examples/timing.h"

namespace {

using namespace worked;
using tiny_llm::Instructions;

using InFloats = void (*)(const float*, const ByteMatrix&, float*, Rows);
using InBytes = void (*)(const ByteVector&, const ByteMatrix&, float*, Rows);

/// A random matrix, and a vector to multiply it by.
struct Problem {
  Problem(int num_rows, int num_columns)
      : q(static_cast<std::size_t>(num_rows) * static_cast<std::size_t>(num_columns)),
        scales(static_cast<std::size_t>(num_rows), 0.01f),
        x(static_cast<std::size_t>(num_columns)),
        y(static_cast<std::size_t>(num_rows)),
        w{q.data(), scales.data(), num_rows, num_columns} {
    std::mt19937 random(7);
    for (auto& one : q) one = static_cast<std::uint8_t>(random());
    std::normal_distribution<float> normal;
    for (float& one : x) one = normal(random);
    bytes = rounded(x.data(), num_columns);
  }

  std::vector<std::uint8_t> q;
  std::vector<float> scales, x, y;
  ByteMatrix w;
  ByteVector bytes;
};

/// A rung, and whether threads share it.
struct Rung {
  std::string name;
  std::function<void(Problem&, Rows)> compute;
  Time time = Time::of_this_thread;
};

Rung in_floats(const char* name, InFloats rows_of) {
  return {name, [=](Problem& one, Rows rows) {
            rows_of(one.x.data(), one.w, one.y.data(), rows);
          }};
}

Rung in_bytes(const char* name, InBytes rows_of) {
  return {name, [=](Problem& one, Rows rows) {
            rows_of(one.bytes, one.w, one.y.data(), rows);
          }};
}

/// Cut the work of a rung into pieces of so many bytes, for all cores.
Rung on_all_cores(const std::string& name, int piece_bytes, const Rung& rung) {
  return {name, [=](Problem& one, Rows) {
            const int per_piece = std::max(1, piece_bytes / one.w.num_columns);
            rows_on_all_cores(
                one.w, per_piece, [&](Rows rows) { rung.compute(one, rows); });
          }, Time::passing};
}

/// Add up all bytes of some rows as numbers of 64 bits: nothing but reading.
void read_rows(Problem& one, Rows rows) {
  std::uint64_t sums[8] = {};
  const std::uint8_t* const end = one.w.row(rows.last);
  for (const std::uint8_t* q = one.w.row(rows.first); q < end; q += 64) {
    std::uint64_t numbers[8];
    std::memcpy(numbers, q, 64);
    for (int k = 0; k < 8; ++k) sums[k] += numbers[k];
  }
  for (const std::uint64_t sum : sums) one.y[0] += static_cast<float>(sum & 1u);
}

/// The rungs that this processor can climb.
std::vector<Rung> rungs() {
  std::vector<Rung> found = {
      in_floats("plain", rows_plain),
      in_floats("four rows", rows_of_four),
      in_floats("converted", rows_converted),
      in_floats("lanes", rows_in_lanes),
  };
  Rung fastest = in_bytes("bytes", rows_in_bytes);
#if defined(__x86_64__)
  if (tiny_llm::has(Instructions::avx512_vnni)) {
    found.push_back(in_floats("wide lanes", rows_in_wide_lanes));
    found.push_back(fastest);
    fastest = in_bytes("VNNI", rows_with_vnni);
  }
#endif
  found.push_back(fastest);
  for (const int kb : {4, 16, 64, 256, 1024}) {
    const std::string name = "pieces of " + std::to_string(kb) + " KB";
    found.push_back(on_all_cores(name, kb << 10, fastest));
  }
  return found;
}

/// Stop unless a rung agrees with the formula, but for the rounding of x to bytes.
void check(const Rung& rung, Problem& one) {
  std::fill(one.y.begin(), one.y.end(), 0.0f);
  rung.compute(one, Rows{0, one.w.num_rows});
  for (int o = 0; o < one.w.num_rows; ++o) {
    const auto at = static_cast<std::size_t>(o);
    double sum = 0;
    for (int i = 0; i < one.w.num_columns; ++i) {
      sum += (one.w.row(o)[i] - zero) * double{one.x[static_cast<std::size_t>(i)]};
    }
    const double right = double{one.w.scales[at]} * sum;
    // Half a step of a byte in each term, as often up as down: 5 times its spread.
    const double allowed = 5 * 0.01 * 74 * 0.016 * std::sqrt(one.w.num_columns);
    if (!(std::fabs(one.y[at] - right) <= allowed)) {
      std::printf("%s: row %d is %g, not %g\n", rung.name.c_str(), o,
                  double{one.y[at]}, right);
      std::exit(1);
    }
  }
}

void time_all(
    const char* where, Problem& one, const std::vector<Rung>& all, int num_rounds,
    int repeats) {
  const Rows rows{0, one.w.num_rows};
  const auto run = [&](const Rung& rung) { rung.compute(one, rows); };
  time_in_turns(where, all, num_rounds, repeats, run);
}

}  // namespace

int main(int count, char** arguments) {
  const bool is_brief = count > 1 && std::strcmp(arguments[1], "--brief") == 0;
  // Rows that neither four nor a piece divides.
  Problem odd(67, 896);
  for (const Rung& rung : rungs()) check(rung, odd);
  if (is_brief) return 0;
  // 229,376 bytes stay in the second cache. 67 million do not stay in any.
  Problem small(256, 896), large(74898, 896);
  print_header();
  print("a thousand cycles", "", 1000 * cycle_ns());
  std::vector<Rung> all = rungs();
  time_all("cache", small, all, 60, 20);
  const Rung reading{"reading", read_rows};
  all.push_back(reading);
  all.push_back(on_all_cores("reading, all cores", 1 << 20, reading));
  time_all("memory", large, all, 30, 1);
}
