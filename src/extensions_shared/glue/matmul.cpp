#include "glue/matmul.h"

#include <string>

#include <mlx/ops.h>
#include <nanobind/stl/vector.h>

#include "glue/checks.h"
#include "glue/op.h"
#include "glue/watched.h"
#include "kernels/matmul.h"
#include "kernels/matmul_int8.h"

namespace mx = mlx::core;

namespace tiny_llm::ops {

namespace {

/// Make an operation of a rung: `rung(x, matrix, y, num_tokens)`.
template <class Rung>
mx::array matmul(
    const std::string& name, const mx::array& x, const Weight& w, Rung rung) {
  expect_weight(w, name);
  expect_floats(x, name);
  expect(x.ndim() == 2, name, "vectors with two axes", text_of(x.shape()));
  const int num_tokens = x.shape(0);
  expect_shape(x, {num_tokens, w.num_columns()}, name);
  if (w.num_columns() == 0) return mx::zeros({num_tokens, w.num_rows()}, x.dtype());
  const mx::array wide = mx::astype(x, mx::float32, mx::Device::cpu);
  const auto run = [=, group_size = w.group_size, bits = w.bits](
                       const std::vector<mx::array>& in, std::vector<mx::array>& out) {
    with_scale_type(in[2].dtype(), [&]<class Scale>(Scale) {
      const auto matrix = matrix_of<Scale>(in[1], in[2], in[3], group_size, bits);
      rung(in[0].data<float>(), matrix, out[0].data<float>(), num_tokens);
    });
  };
  const Output y{"y", {num_tokens, w.num_rows()}, mx::float32};
  const auto outputs = make_op(name, {y}, with_matrix({"x", wide}, w), run);
  return mx::astype(outputs[0], x.dtype(), mx::Device::cpu);
}

}  // namespace

mx::array matmul_naive(const mx::array& x, const Weight& w) {
  return matmul("matmul_naive", x, w, [](auto... all) {
    tiny_llm::matmul_naive(all...);
  });
}

mx::array matmul_blocked(const mx::array& x, const Weight& w) {
  return matmul("matmul_blocked", x, w, [](auto... all) {
    tiny_llm::matmul_blocked(all...);
  });
}

mx::array matmul_int8(const mx::array& x, const Weight& w) {
  return matmul("matmul_int8", x, w, [](auto... all) {
    tiny_llm::matmul_int8(all...);
  });
}

mx::array matmul_threaded(const mx::array& x, const Weight& w) {
  return matmul("matmul_threaded", x, w, [](auto... all) {
    tiny_llm::matmul_threaded(all...);
  });
}

std::vector<mx::array> pack_panel(const Weight& w, int first_row) {
  const std::string name = "pack_panel";
  expect_weight(w, name);
  expect(
      0 <= first_row && first_row < w.num_rows(), name,
      "a row below " + std::to_string(w.num_rows()), std::to_string(first_row));
  const auto run = [=, group_size = w.group_size, bits = w.bits](
                       const std::vector<mx::array>& in, std::vector<mx::array>& out) {
    with_scale_type(in[1].dtype(), [&]<class Scale>(Scale) {
      const auto matrix = matrix_of<Scale>(in[0], in[1], in[2], group_size, bits);
      const Panel panel{
          out[0].data<std::uint8_t>(), out[1].data<float>(), out[2].data<float>()};
      tiny_llm::pack_panel(matrix, first_row, panel);
      if (!are_watched()) return;
      const auto large = ending_in(matrix);
      tiny_llm::pack_panel(large, large.num_rows - matrix.num_rows + first_row, panel);
    });
  };
  const mx::Shape numbers{w.scales.shape(1), panel_rows};
  const Output q{"panel.q", {w.num_columns() / 4, panel_rows, 4}, mx::uint8};
  const Output scales{"panel.scales", numbers, mx::float32};
  const Output biases{"panel.biases", numbers, mx::float32};
  return make_op(name, {q, scales, biases}, inputs_of(w), run);
}

}  // namespace tiny_llm::ops

namespace tiny_llm {

void bind_matmul(nanobind::module_& module) {
  module.def("matmul_naive", &ops::matmul_naive);
  module.def("matmul_blocked", &ops::matmul_blocked);
  module.def("pack_panel", &ops::pack_panel);
  module.def("matmul_int8", &ops::matmul_int8);
  module.def("matmul_threaded", &ops::matmul_threaded);
}

}  // namespace tiny_llm
