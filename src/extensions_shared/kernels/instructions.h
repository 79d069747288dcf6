/// Which instructions for products of small integers this processor has.
///
/// They multiply bytes and add up four products at a time, in 32 bits. Compilers use
/// them only where they are told that every processor will have them, so the kernels
/// carry a copy of themselves for each, and choose while they run.
#pragma once

#include <cstdlib>
#include <string_view>

#if defined(__x86_64__)
#include <cpuid.h>
// GCC 12 takes registers that its own intrinsics leave open for ones of ours.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>
#pragma GCC diagnostic pop
#elif defined(__aarch64__)
#include <arm_neon.h>
#if defined(__linux__)
#include <sys/auxv.h>
#endif
#endif

/// Stands in front of a function that uses the instructions of that name.
#if defined(__x86_64__)
#define TINY_LLM_AVX512_VNNI \
  __attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni,f16c,fma")))
#define TINY_LLM_AVX_VNNI __attribute__((target("avx2,avxvnni,f16c,fma")))
#elif defined(__ARM_FEATURE_DOTPROD)
#define TINY_LLM_NEON_DOTPROD
#elif defined(__aarch64__) && defined(__clang__)
#define TINY_LLM_NEON_DOTPROD __attribute__((target("dotprod")))
#elif defined(__aarch64__)
#define TINY_LLM_NEON_DOTPROD __attribute__((target("arch=armv8.2-a+dotprod")))
#endif

namespace tiny_llm {

enum class Instructions { portable, avx512_vnni, avx_vnni, neon_dotprod };

/// Ask the processor.
inline Instructions best_instructions() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512vnni")) {
    return Instructions::avx512_vnni;
  }
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  const bool is_known = __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) != 0;
  const bool has_avx_vnni = is_known && (eax & (1u << 4)) != 0;
  if (has_avx_vnni && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    return Instructions::avx_vnni;
  }
#elif defined(__ARM_FEATURE_DOTPROD)
  return Instructions::neon_dotprod;
#elif defined(__aarch64__) && defined(__linux__)
  if ((getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0) return Instructions::neon_dotprod;
#endif
  return Instructions::portable;
}

/// What kernels are to use: the best there is, decided once.
///
/// With the environment variable TINY_LLM_INSTRUCTIONS=portable it is plain C++.
inline Instructions instructions() {
  static const Instructions chosen = [] {
    const char* const wanted = std::getenv("TINY_LLM_INSTRUCTIONS");
    const bool is_plain = wanted != nullptr && std::string_view(wanted) == "portable";
    return is_plain ? Instructions::portable : best_instructions();
  }();
  return chosen;
}

}  // namespace tiny_llm
