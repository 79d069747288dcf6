/// Week 2, Day 6: 128 queries of a prompt, in operations on numbers, and one query over
/// a cache of 4096 tokens, in bytes of the cache. Heads are those of Qwen2-0.5B.
#include <cstddef>
#include <vector>

#include "kernels/attention.h"
#include "kernels/heads.h"
#include "serve.h"

namespace {

constexpr int num_heads = 14, num_kv_heads = 2, width = 64;
constexpr int num_queries = 128, num_cached = 4096, num_caches = 16;
constexpr std::size_t cache_size = std::size_t{2} * num_kv_heads * num_cached * width;

const std::vector<float> queries = speed::numbers(num_heads * num_queries * width);
const std::vector<float> caches = speed::numbers(num_caches * cache_size);
std::vector<float> y(num_heads * num_queries * width);
std::size_t turn = 0;

/// Vectors of some heads, whose tokens lie side by side.
tiny_llm::Heads heads(const float* data, int num_tokens) {
  return {data, 0, static_cast<std::ptrdiff_t>(num_tokens) * width, width};
}

/// So many new queries that look at `num_keys` keys of the next cache.
tiny_llm::Attention attention(int num_new, int num_keys) {
  const float* const keys = caches.data() + turn++ % num_caches * cache_size;
  return {
      .query = heads(queries.data(), num_new),
      .key = heads(keys, num_keys),
      .value = heads(keys + cache_size / 2, num_keys),
      .mask = {},
      .is_causal = true,
      .scale = 0.125f,
      .output = y.data(),
      .num_batches = 1,
      .num_heads = num_heads,
      .num_kv_heads = num_kv_heads,
      .num_queries = num_new,
      .num_keys = num_keys,
      .width = width,
  };
}

}  // namespace

KERNEL(attention_online, tiny_llm::attention_online(attention(num_queries, num_queries)))
KERNEL(attention_tiled, tiny_llm::attention_tiled(attention(num_queries, num_queries)))
KERNEL(cache_online, tiny_llm::attention_online(attention(1, num_cached)))
KERNEL(cache_tiled, tiny_llm::attention_tiled(attention(1, num_cached)))
KERNEL(attention_split, tiny_llm::attention_split(attention(1, num_cached)))

int main() {
  const double seen = 0.5 * num_queries * (num_queries + 1);
  const double prompt = 4.0 * num_heads * width * seen;
  const double touched = 4.0 * num_queries * width * 2 * (num_heads + num_kv_heads);
  const double cached = cache_size * sizeof(float);
  return speed::serve({
      {"attention_online", run_attention_online, prompt, touched},
      {"attention_tiled", run_attention_tiled, prompt, touched},
      {"cache_online", run_cache_online, cached},
      {"cache_tiled", run_cache_tiled, cached},
      {"attention_split", run_attention_split, cached},
  });
}
