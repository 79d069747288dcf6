/// Which vector instructions this processor has: the one place that asks it.
///
/// They are named after their products of small integers. Those of VNNI, and the dot
/// products of NEON, multiply bytes and add up four products at a time, in 32 bits.
/// Compilers use them only where they are told that every processor will have them, so
/// the kernels carry a copy of themselves for each, and choose while they run.
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
#define TINY_LLM_AVX2 __attribute__((target("avx2,f16c,fma")))
#elif defined(__ARM_FEATURE_DOTPROD)
#define TINY_LLM_NEON_DOTPROD
#elif defined(__aarch64__) && defined(__clang__)
#define TINY_LLM_NEON_DOTPROD __attribute__((target("dotprod")))
#elif defined(__aarch64__)
#define TINY_LLM_NEON_DOTPROD __attribute__((target("arch=armv8.2-a+dotprod")))
#endif

namespace tiny_llm {

enum class Instructions { portable, avx512_vnni, avx_vnni, avx2, neon_dotprod, neon };

/// All of them and what they are called, the best ones first.
struct NamedInstructions {
  Instructions instructions;
  std::string_view name;
};
inline constexpr NamedInstructions all_instructions[] = {
    {Instructions::avx512_vnni, "avx512_vnni"},
    {Instructions::avx_vnni, "avx_vnni"},
    {Instructions::avx2, "avx2"},
    {Instructions::neon_dotprod, "neon_dotprod"},
    {Instructions::neon, "neon"},
    {Instructions::portable, "portable"},
};

#if defined(__x86_64__)
/// Ask for AVX-VNNI, whose name not every compiler knows.
inline bool has_avx_vnni() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  const bool is_known = __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) != 0;
  return is_known && (eax & (1u << 4)) != 0;
}
#endif

/// Ask the processor.
inline bool has(Instructions asked_for) {
#if defined(__x86_64__)
  const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (asked_for == Instructions::avx2) return has_avx2;
  if (asked_for == Instructions::avx_vnni) return has_avx2 && has_avx_vnni();
  if (asked_for == Instructions::avx512_vnni) {
    return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512vnni");
  }
#elif defined(__aarch64__)
  if (asked_for == Instructions::neon) return true;
#if defined(__ARM_FEATURE_DOTPROD)
  if (asked_for == Instructions::neon_dotprod) return true;
#elif defined(__linux__)
  if (asked_for == Instructions::neon_dotprod) {
    return (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0;
  }
#endif
#endif
  return asked_for == Instructions::portable;
}

/// What kernels are to use, decided once: the best that the processor has.
///
/// Or others that it has, whose name the environment variable TINY_LLM_INSTRUCTIONS is.
/// With "portable" it is plain C++.
inline Instructions instructions() {
  static const Instructions chosen = [] {
    const char* const wanted = std::getenv("TINY_LLM_INSTRUCTIONS");
    Instructions best = Instructions::portable;
    for (const auto& [one, name] : all_instructions) {
      if (!has(one)) continue;
      if (wanted != nullptr && name == wanted) return one;
      if (best == Instructions::portable) best = one;
    }
    return best;
  }();
  return chosen;
}

}  // namespace tiny_llm
