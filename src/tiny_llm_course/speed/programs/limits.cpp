/// What memory and arithmetic give on this machine: no kernel can be faster.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/instructions.h"
#include "kernels/threads.h"
#include "kernels/wide.h"
#include "serve.h"

namespace {

constexpr std::size_t num_words = 8'000'000;  // 64 MB: more than a cache holds
std::vector<std::uint64_t> memory(num_words, 1);
const std::vector<float> x = speed::numbers(4864);
std::vector<float> y = x;
volatile float kept;

/// Add up all words of a part of memory.
void read(std::size_t part, std::size_t num_parts) {
  const std::uint64_t* const first = memory.data() + num_words / num_parts * part;
  std::uint64_t total = 0;
  std::uint64_t* const to = &total;
  tiny_llm::in_wide_vectors([=]() TINY_LLM_INLINE {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < num_words / num_parts; ++i) sum += first[i];
    *to = sum;
  });
  kept = static_cast<float>(total);
}

constexpr int num_steps = 20'000;

/// Multiply and add in twelve registers, none of which waits for another.
double multiply_floats() {
  double work = 0;
  double* const to = &work;
  tiny_llm::in_best_registers([=](auto registers) TINY_LLM_INLINE {
    constexpr int lanes = decltype(registers)::lanes;
    typename tiny_llm::Vectors<lanes>::Floats sums[12] = {};
    for (int i = 0; i < 12; ++i) sums[i] += x[i];  // equal ones would be computed once
    const auto factor = sums[0], more = sums[1];
    for (int step = 0; step < num_steps; ++step) {
      for (auto& sum : sums) sum = sum * factor + more;
    }
    for (auto& sum : sums) kept = kept + sum[0];
    *to = 2.0 * lanes * 12 * num_steps;
  });
  return work;
}

// Registers by name: what is in an array is stored after each step.
#define STEP_IN_EIGHT(step) step(a) step(b) step(c) step(d) step(e) step(f) step(g) step(h)

#if defined(__x86_64__)
TINY_LLM_AVX512_VNNI double multiply_bytes_512() {
  const __m512i bytes = _mm512_set1_epi32(static_cast<int>(memory[0]));
  __m512i a = bytes, b = a, c = a, d = a, e = a, f = a, g = a, h = a;
#define ADD_PRODUCTS(sum)                         \
  sum = _mm512_dpbusd_epi32(sum, bytes, bytes);   \
  asm volatile("" : "+v"(sum));
  for (int step = 0; step < num_steps; ++step) { STEP_IN_EIGHT(ADD_PRODUCTS) }
  return 2.0 * 64 * 8 * num_steps;
}

TINY_LLM_AVX2 double multiply_bytes_256() {
  const __m256i bytes = _mm256_set1_epi32(static_cast<int>(memory[0]));
  __m256i a = bytes, b = a, c = a, d = a, e = a, f = a, g = a, h = a;
#define ADD_PRODUCTS_TWICE(sum)                                      \
  {                                                                  \
    __m256i product = _mm256_maddubs_epi16(bytes, bytes);            \
    asm volatile("" : "+x"(product));                                \
    sum = _mm256_add_epi32(sum, _mm256_madd_epi16(product, bytes));  \
    asm volatile("" : "+x"(sum));                                    \
  }
  for (int step = 0; step < num_steps; ++step) { STEP_IN_EIGHT(ADD_PRODUCTS_TWICE) }
  return 2.0 * 32 * 8 * num_steps;
}
#elif defined(TINY_LLM_NEON_DOTPROD)
TINY_LLM_NEON_DOTPROD double multiply_bytes_128() {
  const int8x16_t bytes = vdupq_n_s8(static_cast<std::int8_t>(memory[0]));
  int32x4_t a = vdupq_n_s32(0), b = a, c = a, d = a, e = a, f = a, g = a, h = a;
#define ADD_PRODUCTS(sum)                  \
  sum = vdotq_s32(sum, bytes, bytes);      \
  asm volatile("" : "+w"(sum));
  for (int step = 0; step < num_steps; ++step) { STEP_IN_EIGHT(ADD_PRODUCTS) }
  return 2.0 * 16 * 8 * num_steps;
}
#endif

/// Products of bytes where the processor has them, else of floats.
double multiply_bytes() {
  switch (tiny_llm::instructions()) {
#if defined(__x86_64__)
    case tiny_llm::Instructions::avx512_vnni: return multiply_bytes_512();
    case tiny_llm::Instructions::avx_vnni:
    case tiny_llm::Instructions::avx2: return multiply_bytes_256();
#elif defined(TINY_LLM_NEON_DOTPROD)
    case tiny_llm::Instructions::neon_dotprod: return multiply_bytes_128();
#endif
    default: return multiply_floats();
  }
}

/// The simplest pass that there is over some floats: two are read, one is written.
void pass_over(int size) {
  const float *const from = x.data();
  float* const to = y.data();
  tiny_llm::in_wide_vectors([=]() TINY_LLM_INLINE {
    for (int i = 0; i < size; ++i) to[i] = to[i] * from[i];
  });
}

template <class Work>
void on_all_cores(const Work& work) {
  const int size = tiny_llm::threads().size();
  tiny_llm::threads().run(size, [&](int piece) { work(piece, size); });
}

}  // namespace

KERNEL(read_one, read(0, 1))
KERNEL(read_all, on_all_cores([](std::size_t piece, std::size_t size) {
         read(piece, size);
       }))
KERNEL(floats_one, multiply_floats())
KERNEL(floats_all, on_all_cores([](int, int) { multiply_floats(); }))
KERNEL(bytes_one, multiply_bytes())
KERNEL(bytes_all, on_all_cores([](int, int) { multiply_bytes(); }))
KERNEL(pass_896, pass_over(896))
KERNEL(pass_4864, pass_over(4864))

int main() {
  const double memory_bytes = 8.0 * num_words, size = tiny_llm::threads().size();
  const double floats = multiply_floats(), bytes = multiply_bytes();
  return speed::serve({
      {"read_one", run_read_one, memory_bytes},
      {"read_all", run_read_all, memory_bytes},
      {"floats_one", run_floats_one, floats},
      {"floats_all", run_floats_all, floats * size},
      {"bytes_one", run_bytes_one, bytes},
      {"bytes_all", run_bytes_all, bytes * size},
      {"pass_896", run_pass_896, 12.0 * 896},
      {"pass_4864", run_pass_4864, 12.0 * 4864},
  });
}
