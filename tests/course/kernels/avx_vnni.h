/// Lets a processor with AVX-512 VNNI run what is for AVX-VNNI, which few have.
///
/// The instructions of the one are among those of the other. So what is included after
/// this is compiled for AVX-512, and may be called by its name.
#pragma once

#include "kernels/instructions.h"

#if defined(__x86_64__)
#undef TINY_LLM_AVX_VNNI
#define TINY_LLM_AVX_VNNI TINY_LLM_AVX512_VNNI
#undef _mm256_dpbusd_avx_epi32
#define _mm256_dpbusd_avx_epi32 _mm256_dpbusd_epi32
#endif
