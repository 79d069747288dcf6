/// The ladder of attention to pages, as operations of MLX.
#pragma once

#include <functional>
#include <string>

#include <mlx/array.h>
#include <nanobind/nanobind.h>

#include "kernels/pages_of_heads.h"

namespace tiny_llm::ops {

/// A variant of attention to pages: one of the functions of kernels/paged.h.
using PagedKernel = std::function<void(const PagedAttention&)>;

/// Where the keys and values of all rows lie.
struct PagedKeys {
  mlx::core::array keys;          ///< N x H_kv x P x D
  mlx::core::array values;        ///< N x H_kv x P x D
  mlx::core::array table;         ///< B x M
  mlx::core::array context_lens;  ///< B
};

/// Attend with a kernel: each row of the query, B x H x L x D, to the pages of its own.
///
/// Numbers are float32, float16 or bfloat16; the result has the shape and dtype of the
/// query. Pages in float32 are read where they lie. The table and the lengths, in
/// integers, are read at once: a page that a row uses and that is not there would be read
/// outside of the pages.
/// Throws std::invalid_argument where shapes, dtypes, pages or lengths do not fit.
mlx::core::array paged_attention(
    const std::string& name,
    const PagedKernel& kernel,
    const mlx::core::array& query,
    const PagedKeys& paged,
    float scale,
    bool is_causal);

/// Attend as a whole layer does: by the fastest function of kernels/paged.h.
void attend_to_pages(const PagedAttention& attention);

}  // namespace tiny_llm::ops

namespace tiny_llm {

/// Make the variants of attention to pages known to Python, by their names.
void bind_paged(nanobind::module_& module);

}  // namespace tiny_llm
