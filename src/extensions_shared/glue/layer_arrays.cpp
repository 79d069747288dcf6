#include "glue/layer_arrays.h"

#include <string>
#include <utility>

#include <mlx/ops.h>
#include <mlx/transforms.h>

#include "glue/checks.h"

namespace mx = mlx::core;

namespace tiny_llm::ops {

namespace {

mx::array ready(const mx::array& array, mx::Dtype dtype) {
  return mx::contiguous(
      mx::astype(array, dtype, mx::Device::cpu), false, mx::Device::cpu);
}

}  // namespace

LayerArrays checked(LayerArrays arrays, std::string_view where) {
  expect(arrays.matrices.size() == 7, where, "seven matrices",
         std::to_string(arrays.matrices.size()));
  expect(arrays.vectors.size() == 5, where, "five vectors",
         std::to_string(arrays.vectors.size()));
  for (const Weight& w : arrays.matrices) expect_weight(w, where);
  const int heads = arrays.num_heads;
  expect(heads > 0 && arrays.matrices[0].num_rows() % heads == 0, where,
         "a number of heads that divides the queries", std::to_string(heads));
  const mx::Dtype scales = arrays.matrices[0].scales.dtype();
  const int E = arrays.hidden_size();
  const int Q = arrays.matrices[0].num_rows();
  const int K = arrays.matrices[1].num_rows();
  const int I = arrays.matrices[4].num_rows();
  expect(K > 0 && K % arrays.head_dim() == 0 && heads % (K / arrays.head_dim()) == 0,
         where, "key heads whose number divides that of the query heads",
         std::to_string(K) + " rows of keys");
  expect(arrays.head_dim() % 2 == 0, where, "heads of an even width",
         std::to_string(arrays.head_dim()));
  const std::vector<std::pair<int, int>> shapes{
      {Q, E}, {K, E}, {K, E}, {E, Q}, {I, E}, {I, E}, {E, I}};
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    Weight& w = arrays.matrices[i];
    const mx::Shape shape{w.num_rows(), w.num_columns()};
    expect(shape == mx::Shape{shapes[i].first, shapes[i].second}, where,
           "a matrix of shape " + text_of(mx::Shape{shapes[i].first, shapes[i].second}),
           text_of(shape));
    expect(w.scales.dtype() == scales, where, "scales of one dtype", "several");
    w.words = ready(w.words, mx::uint32);
    w.scales = ready(w.scales, scales);
    w.biases = ready(w.biases, scales);
    mx::eval(w.words, w.scales, w.biases);
  }
  const int lengths[] = {Q, K, K, E, E};
  for (std::size_t i = 0; i < arrays.vectors.size(); ++i) {
    expect_floats(arrays.vectors[i], where);
    expect_shape(arrays.vectors[i], {lengths[i]}, where);
    arrays.vectors[i] = ready(arrays.vectors[i], mx::float32);
    mx::eval(arrays.vectors[i]);
  }
  return arrays;
}

}  // namespace tiny_llm::ops
