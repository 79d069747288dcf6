/// Times of short loops: of many runs, the one that a quarter of them is faster than. A
/// busy machine disturbs it less than the mean, and a clock that slips less than the best.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <utility>
#include <vector>

namespace worked {

/// What counts: all time that passes, or only that in which this thread runs.
enum class Time { passing, of_this_thread };

inline double now_ns(Time time) {
  timespec now;
  clock_gettime(
      time == Time::passing ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID, &now);
  return 1e9 * static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec);
}

/// Return the nanoseconds of `work` in one run.
///
/// A run repeats it. Of what takes less than a microsecond, hundreds make a run.
template <class Work>
double run_ns(Time time, int repeats, const Work& work) {
  const double start = now_ns(time);
  for (int k = 0; k < repeats; ++k) {
    work();
    asm volatile("" ::: "memory");  // each time, whatever the compiler thinks
  }
  return (now_ns(time) - start) / repeats;
}

/// Return the lower quartile of some times.
inline double quartile(std::vector<double> times) {
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 4);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

/// Return the nanoseconds of `work`, run several times.
template <class Work>
double quartile_ns(Time time, int num_runs, int repeats, const Work& work) {
  std::vector<double> times;
  for (int run = 0; run < num_runs; ++run) times.push_back(run_ns(time, repeats, work));
  return quartile(std::move(times));
}

/// Return the nanoseconds of a cycle: an integer is added to in one, and each addition
/// waits for the last.
inline double cycle_ns() {
  constexpr int num_additions = 100000;
  return quartile_ns(Time::of_this_thread, 200, 1, [] {
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

/// Time several ways in turns, and print a row for each: whatever else runs then
/// disturbs all of them alike. A way has a name and the time that counts, and `run` is
/// called with it.
template <class Way, class Run>
void time_in_turns(
    const char* where, const std::vector<Way>& ways, int num_rounds, int repeats,
    const Run& run) {
  std::vector<std::vector<double>> times(ways.size());
  for (int round = 0; round < num_rounds; ++round) {
    for (std::size_t i = 0; i < ways.size(); ++i) {
      times[i].push_back(run_ns(ways[i].time, repeats, [&] { run(ways[i]); }));
    }
  }
  for (std::size_t i = 0; i < ways.size(); ++i) {
    print(ways[i].name.c_str(), where, quartile(times[i]));
  }
}

}  // namespace worked
