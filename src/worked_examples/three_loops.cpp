/// Time the three loops, on numbers in the cache and in memory, and what threads cost.
///
///     c++ -std=c++20 -O3 -pthread -Isrc src/worked_examples/three_loops.cpp -o loops
///     ./loops
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

#include "worked_examples/three_loops.h"
#include "worked_examples/timing.h"

namespace {

using namespace worked;

volatile float result;  // written, so that no loop is left out

struct Loop {
  const char* name;
  float (*sum)(const float*, std::ptrdiff_t);
};

constexpr Loop loops[] = {
    {"one sum", one_sum},
    {"sums in lanes", sums_in_lanes},
    {"one of each line", one_of_each_line},
};

/// Time all loops on some numbers.
void time_loops(
    const char* where, const std::vector<float>& x, int num_runs, int repeats) {
  for (const auto& [name, sum] : loops) {
    const auto n = static_cast<std::ptrdiff_t>(x.size());
    const auto run = [&] { result = sum(x.data(), n); };
    print(name, where, quartile_ns(Time::of_this_thread, num_runs, repeats, run));
  }
}

/// Time the second loop with one half of the numbers in another thread.
void time_two_threads(const char* where, const std::vector<float>& x, int num_runs) {
  const auto half = static_cast<std::ptrdiff_t>(x.size() / 2);
  print("sums in lanes, 2 threads", where, quartile_ns(Time::passing, num_runs, 1, [&] {
          float second = 0;
          std::thread other(
              [&] { second = sums_in_lanes(x.data() + half, half); });
          result = sums_in_lanes(x.data(), half);
          other.join();
          result = result + second;
        }));
}

/// Time how long it takes until a new thread runs.
void time_start() {
  const auto start = [] { std::thread([] {}).join(); };
  print("start a thread", "", quartile_ns(Time::passing, 200, 1, start));
}

/// Time how long it takes until a thread that sleeps has been woken and has answered.
void time_wake() {
  std::mutex mutex;
  std::condition_variable changed;
  int asked = 0, answered = 0;
  constexpr int num_runs = 200;
  std::thread sleeper([&] {
    std::unique_lock lock(mutex);
    while (answered < num_runs) {
      changed.wait(lock, [&] { return asked > answered; });
      ++answered;
      changed.notify_all();
    }
  });
  print("wake a sleeping thread", "", quartile_ns(Time::passing, num_runs, 1, [&] {
          std::unique_lock lock(mutex);
          ++asked;
          changed.notify_all();
          changed.wait(lock, [&] { return answered == asked; });
        }));
  sleeper.join();
}

/// Time how long it takes until a thread that keeps looking has seen work and answered.
void time_hand_over(int num_runs) {
  std::atomic<int> asked = 0, answered = 0;
  std::thread looker([&] {
    for (int round = 1; round <= num_runs; ++round) {
      while (asked.load() < round) std::this_thread::yield();
      answered.store(round);
    }
  });
  print("call one that is awake", "", quartile_ns(Time::passing, num_runs, 1, [&] {
          const int round = asked.fetch_add(1) + 1;
          while (answered.load() < round) {
          }
        }));
  looker.join();
}

}  // namespace

int main(int count, char** arguments) {
  // A test takes little of everything.
  const bool is_brief = count > 1 && std::strcmp(arguments[1], "--brief") == 0;
  const std::vector<float> few(4096, 1.0f);
  const std::vector<float> many((is_brief ? 1u : 64u) << 20, 1.0f);
  print_header();
  print("a thousand cycles", "", 1000 * cycle_ns());
  time_loops("cache", few, is_brief ? 2 : 500, 100);
  time_loops("memory", many, is_brief ? 1 : 25, 1);
  time_two_threads("memory", many, is_brief ? 1 : 60);
  time_start();
  time_wake();
  time_hand_over(is_brief ? 20 : 20000);
}
