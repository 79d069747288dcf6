/// Week 3, Day 4: one new token in each of 8 rows, over contexts that lie in pages of 16
/// tokens, in bytes of the contexts. Heads are those of Qwen2-0.5B.
///
/// `in_one_place` is what pages cost: the kernel of Week 2 on as many rows of the same
/// length, whose keys and values lie side by side.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/attention.h"
#include "kernels/paged.h"
#include "serve.h"

namespace {

constexpr int num_heads = 14, num_kv_heads = 2, width = 64, page_size = 16;
constexpr int num_rows = 8, num_tokens = 1024, num_pools = 4;
constexpr int pages_of_row = num_tokens / page_size;
constexpr int num_pages = num_rows * pages_of_row;
constexpr std::size_t pool_size =
    std::size_t{num_rows} * num_tokens * num_kv_heads * width;

const std::vector<float> queries = speed::numbers(num_rows * num_heads * width);
const std::vector<float> keys = speed::numbers(num_pools * pool_size);
const std::vector<float> values = speed::numbers(num_pools * pool_size);
std::vector<float> y(num_rows * num_heads * width);
std::size_t turn = 0;

/// The pages of all rows, in no order: 401 is a prime, so each comes once.
std::vector<std::int32_t> scattered() {
  std::vector<std::int32_t> tables;
  for (int i = 0; i < num_pages; ++i) tables.push_back(i * 401 % num_pages);
  return tables;
}

const std::vector<std::int32_t> tables = scattered();

std::vector<tiny_llm::PagedRow> described() {
  std::vector<tiny_llm::PagedRow> rows;
  for (int row = 0; row < num_rows; ++row) {
    const int at = row * num_heads * width;
    rows.push_back(
        {queries.data() + at, y.data() + at, tables.data() + row * pages_of_row, 1,
         num_tokens});
  }
  return rows;
}

const std::vector<tiny_llm::PagedRow> rows = described();

/// One new token of each row, in the next pool.
tiny_llm::PagedAttention attention() {
  const std::size_t pool = turn++ % num_pools * pool_size;
  return {
      .pages = {keys.data() + pool, values.data() + pool, num_kv_heads, page_size, width},
      .rows = rows.data(),
      .num_rows = num_rows,
      .head = width,
      .position = num_heads * width,
      .num_heads = num_heads,
      .is_causal = true,
      .scale = 0.125f,
  };
}

/// Likewise, where the tokens of each row lie in one place.
tiny_llm::Attention attention_in_one_place() {
  const std::size_t pool = turn++ % num_pools * pool_size;
  const std::ptrdiff_t head = std::ptrdiff_t{num_tokens} * width;
  const auto heads = [&](const float* data) {
    return tiny_llm::Heads{data + pool, num_kv_heads * head, head, width};
  };
  return {
      .query = {queries.data(), num_heads * width, width, width},
      .key = heads(keys.data()),
      .value = heads(values.data()),
      .mask = {},
      .is_causal = true,
      .scale = 0.125f,
      .output = y.data(),
      .num_batches = num_rows,
      .num_heads = num_heads,
      .num_kv_heads = num_kv_heads,
      .num_queries = 1,
      .num_keys = num_tokens,
      .width = width,
  };
}

}  // namespace

KERNEL(paged_attention_online, tiny_llm::paged_attention_online(attention()))
KERNEL(paged_attention_tiled, tiny_llm::paged_attention_tiled(attention()))
KERNEL(in_one_place, tiny_llm::attention_split(attention_in_one_place()))

int main() {
  const double read = 2.0 * pool_size * sizeof(float);
  return speed::serve({
      {"paged_attention_online", run_paged_attention_online, read},
      {"paged_attention_tiled", run_paged_attention_tiled, read},
      {"in_one_place", run_in_one_place, read},
  });
}
