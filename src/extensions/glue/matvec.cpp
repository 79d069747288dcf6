#include "glue/matvec.h"

#include <string>

#include <mlx/ops.h>

#include "glue/checks.h"
#include "glue/op.h"
#include "kernels/matvec.h"

namespace mx = mlx::core;

namespace tiny_llm::ops {

namespace {

/// Make an operation of a rung: `rung(x, matrix, y, rows)`.
template <class Rung>
mx::array matvec(
    const std::string& name, const mx::array& x, const Weight& w, Rung rung) {
  expect_weight(w, name);
  expect_floats(x, name);
  expect_shape(x, {w.num_columns()}, name);
  // No rows: a stub says so, and anything else does nothing.
  rung(nullptr, QuantizedMatrix<float>{}, nullptr, Rows{0, 0});
  const mx::array wide = mx::astype(x, mx::float32, mx::Device::cpu);
  const auto run = [=, group_size = w.group_size, bits = w.bits](
                       const std::vector<mx::array>& in, std::vector<mx::array>& out) {
    with_scale_type(in[2].dtype(), [&]<class Scale>(Scale) {
      const auto matrix = matrix_of<Scale>(in[1], in[2], in[3], group_size, bits);
      rung(in[0].data<float>(), matrix, out[0].data<float>(), Rows{0, matrix.num_rows});
    });
  };
  const Output y{{w.num_rows()}, mx::float32};
  const auto outputs = make_op(name, {y}, {wide, w.words, w.scales, w.biases}, run);
  return mx::astype(outputs[0], x.dtype(), mx::Device::cpu);
}

}  // namespace

mx::array matvec_naive(const mx::array& x, const Weight& w) {
  return matvec("matvec_naive", x, w, [](auto... all) {
    tiny_llm::matvec_naive(all...);
  });
}

}  // namespace tiny_llm::ops

namespace tiny_llm {

void bind_matvec(nanobind::module_& module) {
  module.def("matvec_naive", &ops::matvec_naive);
}

}  // namespace tiny_llm
