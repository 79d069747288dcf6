/// What the programs beside this file share: sizes and numbers drawn from a seed, in
/// arrays that end where memory ends.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <new>
#include <random>
#include <vector>

#include "kernels/numbers.h"
#include "kernels/quantized_matrix.h"
#include "kernels/todo.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(begin, size)
#define ASAN_UNPOISON_MEMORY_REGION(begin, size)
#endif

namespace tiny_llm {

/// Gives out memory that ends at a page which nobody may touch.
///
/// A sanitizer does not see what all instructions do, masked loads for example. Here
/// the processor itself refuses. What lies before the array is left to the sanitizer.
template <class Number>
struct AtEdge {
  using value_type = Number;

  AtEdge() = default;
  template <class Other>
  AtEdge(const AtEdge<Other>&) {}

  Number* allocate(std::size_t size) {
    const Pages pages(size);
    void* const memory = mmap(
        nullptr, pages.room + pages.page, PROT_READ | PROT_WRITE,
        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    auto* const begin = static_cast<std::byte*>(memory);
    const int refused = mprotect(begin + pages.room, pages.page, PROT_NONE);
    if (refused != 0) throw std::bad_alloc();
    ASAN_POISON_MEMORY_REGION(begin, pages.before);
    return reinterpret_cast<Number*>(begin + pages.before);
  }

  void deallocate(Number* numbers, std::size_t size) {
    const Pages pages(size);
    std::byte* const begin = reinterpret_cast<std::byte*>(numbers) - pages.before;
    ASAN_UNPOISON_MEMORY_REGION(begin, pages.before);
    munmap(begin, pages.room + pages.page);
  }

  bool operator==(const AtEdge&) const { return true; }

 private:
  struct Pages {
    explicit Pages(std::size_t size)
        : page(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))),
          room((size * sizeof(Number) + page - 1) / page * page),
          before(room - size * sizeof(Number)) {}

    std::size_t page;
    std::size_t room;
    std::size_t before;
  };
};

template <class Number>
using Exact = std::vector<Number, AtEdge<Number>>;
using Numbers = Exact<float>;

/// Distributions of the library differ from one to the next: these do not.
inline std::mt19937 random_bits(4);

/// A whole number from `least` to `most`.
inline int whole(int least, int most) {
  const auto count = static_cast<unsigned>(most - least + 1);
  return least + static_cast<int>(static_cast<unsigned>(random_bits()) % count);
}

/// A size up to `most`. Small ones come more often, as there most of the edges are.
inline int drawn_size(int most) { return whole(1, whole(1, most)); }

inline int one_of(std::initializer_list<int> all) {
  return all.begin()[whole(0, static_cast<int>(all.size()) - 1)];
}

inline bool coin() { return whole(0, 1) == 1; }

/// Some rows of so many.
inline Rows drawn_rows(int num_rows) {
  const int first = whole(0, num_rows - 1);
  return {first, whole(first + 1, num_rows)};
}

/// A number from -1 to 1.
inline float uniform() { return static_cast<float>(random_bits()) * 0x1p-31f - 1.0f; }

inline Numbers drawn_numbers(std::size_t size) {
  Numbers numbers(size);
  for (float& one : numbers) one = 2 * uniform();
  return numbers;
}

inline void store(float number, float& to) { to = number; }

inline void store(float number, BFloat16& to) {
  to.bits = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(number) >> 16);
}

/// Cut off: for numbers between 2**-14 and 1 there is no more to it.
inline void store(float number, Float16& to) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(number);
  const std::uint32_t rest = (bits & 0x7fffffffu) - (112u << 23);
  to.bits = static_cast<std::uint16_t>((bits >> 16 & 0x8000u) | rest >> 13);
}

inline std::size_t size_of(int rows, int columns) {
  return static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns);
}

/// A quantised matrix of random numbers.
template <class Scale>
struct Matrix {
  Exact<std::uint32_t> words;
  Exact<Scale> scales;
  Exact<Scale> biases;
  QuantizedMatrix<Scale> view;

  Matrix(int num_rows, int num_columns, int group_size, int bits)
      : words(size_of(num_rows, num_columns * bits / 32)),
        scales(size_of(num_rows, num_columns / group_size)),
        biases(scales.size()),
        view{words.data(), scales.data(), biases.data(), num_rows, num_columns,
             group_size,   bits} {
    for (std::uint32_t& word : words) word = static_cast<std::uint32_t>(random_bits());
    for (Scale& scale : scales) store(0.01f * (1.5f + uniform()), scale);
    for (Scale& bias : biases) store(0.1f * (1.5f + uniform()), bias);
  }

  double weight(int o, int i) const {
    const int group = i / view.group_size;
    return static_cast<double>(to_float(view.row_scales(o)[group])) * view.q(o, i) +
           static_cast<double>(to_float(view.row_biases(o)[group]));
  }
};

/// Call `check` with an example of one of the types that scales have.
template <class Check>
void with_any_scale(Check check) {
  const int type = whole(0, 2);
  if (type == 0) return check(float{});
  if (type == 1) return check(Float16{});
  check(BFloat16{});
}

#if defined(TINY_LLM_LOOKS_ON)
/// Whether a wrong result is for others to tell: here the sanitizer has the word.
constexpr bool looks_on = true;
#else
constexpr bool looks_on = false;
#endif

/// Call what may be a stub. Tells whether all of it is written.
template <class Work>
bool is_written(const Work& work) {
  try {
    work();
  } catch (const Unsolved&) {
    if (!looks_on) throw;
    return false;
  }
  return true;
}

/// End because of a wrong result, about which all has been said.
inline void end_as_wrong() {
  if (!looks_on) std::exit(1);
}

/// Seeds to begin with: `program [rounds [first seed]]`, and without it some few.
struct Rounds {
  int count;
  unsigned first;
  bool is_long;

  Rounds(int argc, char** argv, int few)
      : count(argc > 1 ? std::atoi(argv[1]) : few),
        first(argc > 2 ? static_cast<unsigned>(std::atoi(argv[2])) : 0u),
        is_long(argc > 1) {}
};

/// Call `check` once for each seed. The last one printed is that of a failure.
template <class Check>
void fuzz(const Rounds& rounds, Check check) {
  for (int round = 0; round < rounds.count; ++round) {
    const unsigned seed = rounds.first + static_cast<unsigned>(round);
    std::printf("seed %u\n", seed);
    std::fflush(stdout);
    random_bits.seed(seed);
    check();
  }
}

}  // namespace tiny_llm
