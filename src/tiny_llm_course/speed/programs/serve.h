/// Runs kernels on request: what the programs beside this file share.
///
/// A line of the input names a kernel and how often to call it. A line answers it, with
/// what one call took:
///
///     took work  touched  allocated  wall-clock ns  CPU ns of all threads  of this thread
///
/// The work is what the kernel has to do, in bytes or in operations. It has to touch so
/// many bytes, and has asked the heap for so many. A stub is answered by "unsolved".
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/todo.h"

namespace speed {

inline std::atomic<std::size_t> num_allocated{0};

inline void* allocate(std::size_t size, std::size_t alignment) {
  num_allocated += size;
  const std::size_t rounded = (size + alignment - 1) / alignment * alignment;
  if (void* const memory = std::aligned_alloc(alignment, rounded)) return memory;
  throw std::bad_alloc();
}

inline double cpu_ns(clockid_t clock) {
  timespec time;
  clock_gettime(clock, &time);
  return 1e9 * static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec);
}

struct Kernel {
  std::string_view name;
  void (*call)();  ///< Has a name that a disassembler shows: "run_" and the kernel's.
  double work;
  double touched = work;
  void (*prepare)() = [] {};  ///< Called before each request, and not timed.
};

inline void time_calls(const Kernel& kernel, int count) {
  const double cpu = cpu_ns(CLOCK_PROCESS_CPUTIME_ID);
  const double own = cpu_ns(CLOCK_THREAD_CPUTIME_ID);
  const std::size_t allocated = num_allocated;
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < count; ++i) kernel.call();
  const std::chrono::duration<double, std::nano> wall =
      std::chrono::steady_clock::now() - begin;
  const double all_cpu = cpu_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu;
  const double own_cpu = cpu_ns(CLOCK_THREAD_CPUTIME_ID) - own;
  const auto bytes = static_cast<double>(num_allocated - allocated);
  std::cout << "took " << kernel.work << ' ' << kernel.touched;
  for (const double total : {bytes, wall.count(), all_cpu, own_cpu}) {
    std::cout << ' ' << total / count;
  }
  std::cout << std::endl;
}

/// Answer until the input ends. Returns the exit status of the program.
inline int serve(const std::vector<Kernel>& kernels) {
  std::string wanted;
  for (int count; std::cin >> wanted >> count;) {
    for (const Kernel& kernel : kernels) {
      if (kernel.name != wanted) continue;
      try {
        kernel.prepare();
        time_calls(kernel, count);
      } catch (const tiny_llm::Unsolved&) {
        std::cout << "unsolved" << std::endl;
      }
    }
  }
  return 0;
}

/// Numbers from -1 to 1, all of them different from the next.
inline std::vector<float> numbers(std::size_t size) {
  std::vector<float> made(size);
  std::uint32_t state = 1;
  for (float& one : made) {
    state = state * 1664525u + 1013904223u;
    one = static_cast<float>(static_cast<std::int32_t>(state)) * 0x1p-31f;
  }
  return made;
}

}  // namespace speed

#define KERNEL(name, ...) \
  extern "C" [[gnu::noinline]] void run_##name() { __VA_ARGS__; }

void* operator new(std::size_t size) { return speed::allocate(size, 16); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return speed::allocate(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}
