/// Loops that are compiled twice: for any processor, and for one with wide registers.
///
/// On x86, a compiler may use no register of more than 128 bits unless it is told that
/// all processors have them. Here it is told so for one copy of a loop, and the
/// processor that runs it decides which copy is taken. Elsewhere there is one.
#pragma once

#include <cstdlib>
#include <string_view>

namespace tiny_llm {

namespace wide {

#if defined(__x86_64__)

template <class Loops>
__attribute__((target("avx512f,fma"))) void run(Loops loops) {
  loops();
}

/// Tell whether the processor has them, and TINY_LLM_INSTRUCTIONS does not forbid it.
inline bool is_there() {
  static const bool is_there = [] {
    const char* chosen = std::getenv("TINY_LLM_INSTRUCTIONS");
    return (chosen == nullptr || std::string_view(chosen) != "portable") &&
           __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("fma");
  }();
  return is_there;
}

#else

template <class Loops>
void run(Loops loops) {
  loops();
}

inline bool is_there() { return false; }

#endif

}  // namespace wide

/// Call `loops` in the copy that suits this processor.
///
/// A copy is made only of what is inlined, so `loops` is a lambda of the form
/// `[=]() TINY_LLM_INLINE { ... }`, and what it calls is marked TINY_LLM_INLINE, too.
template <class Loops>
void in_wide_vectors(Loops loops) {
  if (wide::is_there()) {
    wide::run(loops);
  } else {
    loops();
  }
}

#define TINY_LLM_INLINE __attribute__((always_inline))

}  // namespace tiny_llm
