/// Times of short loops: the best of many runs, which a busy machine disturbs least.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <limits>

namespace worked {

using Clock = std::chrono::steady_clock;

inline double ns_since(Clock::time_point start) {
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

/// Return the nanoseconds of the fastest of several runs of `work`.
template <class Work>
double best_ns(int num_runs, const Work& work) {
  double best = std::numeric_limits<double>::infinity();
  for (int run = 0; run < num_runs; ++run) {
    const auto start = Clock::now();
    work();
    best = std::min(best, ns_since(start));
  }
  return best;
}

/// Return the nanoseconds of a cycle: an integer is added to in one, and each addition
/// waits for the last.
inline double cycle_ns() {
  constexpr int num_additions = 100000;
  return best_ns(200, [] {
    std::uint64_t x = 0;
    for (int i = 0; i < num_additions; i += 10) {
      for (int k = 0; k < 10; ++k) {
        x += 3;
        asm volatile("" : "+r"(x));  // the compiler may not join additions
      }
    }
  }) / num_additions;
}

/// Print a row: what was timed, where its numbers were, and the nanoseconds.
inline void print(const char* what, const char* where, double ns) {
  std::printf("%-26s %-12s %14.2f\n", what, where, ns);
}

inline void print_header() {
  std::printf("%-26s %-12s %14s\n", "what", "numbers in", "ns");
}

}  // namespace worked
