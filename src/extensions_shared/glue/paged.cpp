#include "glue/paged.h"

#include <cstdint>
#include <string>
#include <vector>

#include <mlx/ops.h>

#include "glue/checks.h"
#include "glue/op.h"
#include "kernels/paged.h"

namespace mx = mlx::core;

namespace tiny_llm::ops {

namespace {

void expect_pages(
    const mx::array& query, const PagedKeys& paged, const std::string& name) {
  for (const mx::array* one : {&query, &paged.keys, &paged.values}) {
    expect_floats(*one, name);
    expect(one->ndim() == 4, name, "four axes", text_of(one->shape()));
  }
  expect_countable(query, name);
  const mx::Shape& pages = paged.keys.shape();
  expect(query.shape(3) > 0, name, "heads with a width", text_of(query.shape()));
  expect(pages[1] > 0 && pages[2] > 0, name, "key heads and slots", text_of(pages));
  expect(
      query.shape(1) % pages[1] == 0, name,
      "query heads to be a multiple of " + std::to_string(pages[1]) + " key heads",
      std::to_string(query.shape(1)));
  expect_shape(paged.keys, {pages[0], pages[1], pages[2], query.shape(3)}, name);
  expect_shape(paged.values, pages, name);
  const int B = query.shape(0);
  for (const mx::array* one : {&paged.table, &paged.context_lens}) {
    expect(
        mx::issubdtype(one->dtype(), mx::integer), name, "integers",
        text_of(one->dtype()));
  }
  expect(paged.table.ndim() == 2, name, "B x M pages", text_of(paged.table.shape()));
  expect_shape(paged.table, {B, paged.table.shape(1)}, name);
  expect_shape(paged.context_lens, {B}, name);
}

/// What each row looks at: read before anything runs, since it says where to read.
struct Tables {
  std::vector<std::int32_t> pages;  ///< B x M
  std::vector<std::int32_t> num_keys;
  int num_columns;  ///< M

  explicit Tables(const PagedKeys& paged)
      : pages(integers_of(paged.table)),
        num_keys(integers_of(paged.context_lens)),
        num_columns(paged.table.shape(1)) {}

  /// The table of a row.
  const std::int32_t* of_row(std::size_t row) const {
    return pages.data() + row * static_cast<std::size_t>(num_columns);
  }

  /// Throw unless each row has so many keys at least, in pages that are there.
  void expect_to_fit(int fewest_keys, const mx::Shape& all, const std::string& name) const {
    const int num_pages = all[0], page_size = all[2];
    const std::int64_t room = std::int64_t{num_columns} * page_size;
    for (std::size_t row = 0; row < num_keys.size(); ++row) {
      const int count = num_keys[row];
      const auto refuse = [&](const std::string& expected, int got) {
        const std::string where = name + ": row " + std::to_string(row);
        expect(false, where, expected, std::to_string(got));
      };
      if (count < fewest_keys) refuse(std::to_string(fewest_keys) + " tokens or more", count);
      if (count > room) refuse(std::to_string(room) + " tokens at most", count);
      for (int i = 0; i <= (count - 1) / page_size; ++i) {
        const int page = of_row(row)[i];
        if (page >= 0 && page < num_pages) continue;
        refuse("pages from 0 to " + std::to_string(num_pages - 1), page);
      }
    }
  }
};

}  // namespace

mx::array paged_attention(
    const std::string& name,
    const PagedKernel& kernel,
    const mx::array& query,
    const PagedKeys& paged,
    float scale,
    bool is_causal) {
  expect_pages(query, paged, name);
  const Tables tables(paged);
  tables.expect_to_fit(is_causal ? query.shape(2) : 1, paged.keys.shape(), name);
  const auto wide = [](const mx::array& x) {
    return mx::astype(x, mx::float32, mx::Device::cpu);
  };
  const auto run = [=](const std::vector<mx::array>& in, std::vector<mx::array>& out) {
    const mx::Shape &heads = in[0].shape(), &pages = in[1].shape();
    const int H = heads[1], L = heads[2], D = heads[3];
    const std::ptrdiff_t row_size = std::ptrdiff_t{H} * L * D;
    std::vector<PagedRow> rows;
    for (std::size_t row = 0; row < tables.num_keys.size(); ++row) {
      const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(row) * row_size;
      rows.push_back({
          .query = in[0].data<float>() + at, .output = out[0].data<float>() + at,
          .table = tables.of_row(row), .num_queries = L,
          .num_keys = tables.num_keys[row]});
    }
    kernel(PagedAttention{
        .pages = {in[1].data<float>(), in[2].data<float>(), pages[1], pages[2], D},
        .rows = rows.data(), .num_rows = heads[0],
        .head = std::ptrdiff_t{L} * D, .position = D,
        .num_heads = H, .is_causal = is_causal, .scale = scale});
  };
  const std::vector<Input> inputs{
      {"query", wide(query)},
      {"key_pages", wide(paged.keys)},
      {"value_pages", wide(paged.values)}};
  const Output y{"output", query.shape(), mx::float32};
  return mx::astype(
      make_op(name, {y}, inputs, run)[0], query.dtype(), mx::Device::cpu);
}

void attend_to_pages(const PagedAttention& attention) {
  paged_attention_tiled(attention);
}

}  // namespace tiny_llm::ops

namespace tiny_llm {

void bind_paged(nanobind::module_& module) {
  using mx::array;
  using nanobind::arg;
  const auto define = [&](const char* name, const ops::PagedKernel& kernel) {
    const auto attend = [=](const array& query, const array& key_pages,
                            const array& value_pages, const array& block_table,
                            const array& context_lens, float scale, bool is_causal) {
      const ops::PagedKeys paged{key_pages, value_pages, block_table, context_lens};
      return ops::paged_attention(name, kernel, query, paged, scale, is_causal);
    };
    module.def(
        name, attend, arg("query"), arg("key_pages"), arg("value_pages"),
        arg("block_table"), arg("context_lens"), arg("scale"), arg("is_causal"));
  };
  define("paged_attention_online", paged_attention_online);
  define("paged_attention_tiled", paged_attention_tiled);
}

}  // namespace tiny_llm
