/// Loops that are compiled several times: once for each kind of vector register.
///
/// On x86, a compiler may use no register of more than 128 bits unless it is told that
/// all processors have them. Here it is told so for some copies of a loop, and the
/// processor that runs it decides which copy is taken.
#pragma once

#include <cstdint>
#include <cstring>

#include "kernels/instructions.h"

#define TINY_LLM_INLINE __attribute__((always_inline))

namespace tiny_llm {

/// Some numbers of 32 bits, and as many bytes, that one instruction works on.
template <int lanes>
struct Vectors {
  using Bytes __attribute__((vector_size(4 * lanes))) = std::uint8_t;
  using Words __attribute__((vector_size(4 * lanes))) = std::uint32_t;
  using Integers __attribute__((vector_size(4 * lanes))) = std::int32_t;
  using Floats __attribute__((vector_size(4 * lanes))) = float;
};

/// Load a vector from any address.
template <class Vector, class Number>
TINY_LLM_INLINE inline void load(const Number* from, Vector& vector) {
  std::memcpy(&vector, from, sizeof(vector));
}

/// Store a vector at any address.
template <class Vector, class Number>
TINY_LLM_INLINE inline void store(const Vector& vector, Number* to) {
  std::memcpy(to, &vector, sizeof(vector));
}

/// How many numbers of 32 bits a register holds, and how many registers there are.
template <int num_lanes, int num_registers>
struct Registers {
  static constexpr int lanes = num_lanes;
  static constexpr int count = num_registers;
};

namespace wide {

#if defined(__x86_64__)
using Least = Registers<4, 16>;

template <class Loops, class... Told>
TINY_LLM_AVX512_VNNI void run_avx512(Loops loops, Told... told) {
  loops(told...);
}

template <class Loops, class... Told>
TINY_LLM_AVX2 void run_avx2(Loops loops, Told... told) {
  loops(told...);
}
#elif defined(__aarch64__)
using Least = Registers<4, 32>;
#else
using Least = Registers<4, 16>;
#endif

}  // namespace wide

/// Call `loops` with the registers of this processor, in the copy that is for them.
///
/// A copy is made only of what is inlined, so `loops` is a lambda of the form
/// `[=](auto registers) TINY_LLM_INLINE { ... }`, and what it calls is marked
/// TINY_LLM_INLINE, too. One that need not know the registers goes to
/// `in_wide_vectors`.
template <class Loops>
void in_best_registers(Loops loops) {
#if defined(__x86_64__)
  switch (instructions()) {
    case Instructions::avx512_vnni:
      return wide::run_avx512(loops, Registers<16, 32>{});
    case Instructions::avx_vnni:
    case Instructions::avx2: return wide::run_avx2(loops, Registers<8, 16>{});
    default: break;
  }
#endif
  loops(wide::Least{});
}

/// Call `loops`, which need not know the registers: `[=]() TINY_LLM_INLINE { ... }`.
///
/// It is handed on as it is: wrapped into another lambda, some loops become slower.
template <class Loops>
void in_wide_vectors(Loops loops) {
#if defined(__x86_64__)
  switch (instructions()) {
    case Instructions::avx512_vnni: return wide::run_avx512(loops);
    case Instructions::avx_vnni:
    case Instructions::avx2: return wide::run_avx2(loops);
    default: break;
  }
#endif
  loops();
}

}  // namespace tiny_llm
