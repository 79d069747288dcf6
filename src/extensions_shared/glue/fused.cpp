#include "glue/fused.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <mlx/ops.h>
#include <nanobind/stl/pair.h>

#include "glue/checks.h"
#include "glue/op.h"
#include "glue/rotations.h"
#include "glue/watched.h"
#include "kernels/fused.h"
#include "kernels/threads.h"

namespace mx = mlx::core;

namespace tiny_llm::ops {

namespace {

/// Fail unless x has rows that a weight fits. Returns the length of the rows.
int expect_rows(const mx::array& x, const mx::array& weight, std::string_view where) {
  expect_floats(x, where);
  expect_floats(weight, where);
  expect(x.ndim() > 0, where, "x with one axis at least", text_of(x.shape()));
  expect(x.shape(-1) > 0, where, "rows of one number at least", text_of(x.shape()));
  expect_countable(x, where);
  expect_shape(weight, {x.shape(-1)}, where);
  return x.shape(-1);
}

/// Fail unless two arrays have one shape and one dtype.
void expect_alike(const mx::array& x, const mx::array& other, std::string_view where) {
  expect_shape(other, x.shape(), where);
  expect(
      other.dtype() == x.dtype(), where, "two arrays of " + text_of(x.dtype()),
      text_of(other.dtype()));
}

mx::array widened(const mx::array& x) {
  return mx::astype(x, mx::float32, mx::Device::cpu);
}

mx::array rounded(const mx::array& y, mx::Dtype dtype) {
  return mx::astype(y, dtype, mx::Device::cpu);
}

/// Let `work` do all rows on all cores. If it is watched, by itself and in parts first.
template <class Work>
void share(
    const std::string& name,
    int num_rows,
    const std::vector<mx::array>& outputs,
    const Work& work) {
  if (are_watched()) do_rows(name, num_rows, outputs, work);
  const auto numbers_per_row = static_cast<std::int64_t>(outputs[0].size()) / num_rows;
  share_rows(num_rows, numbers_per_row, work);
}

int count_rows(const mx::array& x) { return static_cast<int>(x.size()) / x.shape(-1); }

}  // namespace

mx::array rms_norm(const mx::array& x, const mx::array& weight, float eps) {
  const int D = expect_rows(x, weight, "rms_norm");
  const auto run = [=](const std::vector<mx::array>& in, std::vector<mx::array>& out) {
    const Norm norm{in[1].data<float>(), eps, D};
    share("rms_norm", count_rows(in[0]), out, [&](Rows rows) {
      tiny_llm::rms_norm(in[0].data<float>(), norm, out[0].data<float>(), rows);
    });
  };
  const Output y{"y", x.shape(), mx::float32};
  const auto outputs = make_op(
      "rms_norm", {y}, {{"x", widened(x)}, {"norm.weight", widened(weight)}}, run);
  return rounded(outputs[0], x.dtype());
}

std::pair<mx::array, mx::array> add_rms_norm(
    const mx::array& x, const mx::array& residual, const mx::array& weight, float eps) {
  const int D = expect_rows(x, weight, "add_rms_norm");
  expect_alike(x, residual, "add_rms_norm");
  const auto run = [=](const std::vector<mx::array>& in, std::vector<mx::array>& out) {
    const Norm norm{in[2].data<float>(), eps, D};
    share("add_rms_norm", count_rows(in[0]), out, [&](Rows rows) {
      tiny_llm::add_rms_norm(
          in[0].data<float>(), in[1].data<float>(), norm, out[0].data<float>(),
          out[1].data<float>(), rows);
    });
  };
  const Output sum{"sum", x.shape(), mx::float32}, y{"y", x.shape(), mx::float32};
  const auto outputs = make_op(
      "add_rms_norm", {sum, y},
      {{"x", widened(x)}, {"residual", widened(residual)},
       {"norm.weight", widened(weight)}},
      run);
  return {rounded(outputs[0], x.dtype()), rounded(outputs[1], x.dtype())};
}

mx::array rope(const mx::array& x, int offset, double base) {
  expect_floats(x, "rope");
  expect(x.ndim() == 4, "rope", "x with axes B, L, H and D", text_of(x.shape()));
  const RotatedHeads heads{x.shape(1), x.shape(2), x.shape(3), offset};
  const bool is_even = heads.D > 0 && heads.D % 2 == 0;
  expect(is_even, "rope", "heads of an even width", std::to_string(heads.D));
  expect_countable(x, "rope");
  expect_positions(offset, heads.L, "rope");
  expect(base > 0, "rope", "a base above 0", std::to_string(base));
  const auto table = rotations_for(heads.D, base, offset + heads.L);
  const int num_tokens = x.shape(0) * heads.L;
  const auto run = [=](const std::vector<mx::array>& in, std::vector<mx::array>& out) {
    share("rope", num_tokens, out, [&](Rows tokens) {
      tiny_llm::rope(
          in[0].data<float>(), table->cosines.data(), table->sines.data(), heads,
          out[0].data<float>(), tokens);
    });
  };
  const Output y{"y", x.shape(), mx::float32};
  return rounded(make_op("rope", {y}, {{"x", widened(x)}}, run)[0], x.dtype());
}

mx::array swiglu(const mx::array& gate, const mx::array& up) {
  expect_floats(gate, "swiglu");
  expect_alike(gate, up, "swiglu");
  expect_countable(gate, "swiglu");
  const auto run = [](const std::vector<mx::array>& in, std::vector<mx::array>& out) {
    share("swiglu", static_cast<int>(in[0].size()), out, [&](Rows numbers) {
      tiny_llm::swiglu(
          in[0].data<float>(), in[1].data<float>(), out[0].data<float>(), numbers);
    });
  };
  const Output y{"y", gate.shape(), mx::float32};
  const auto outputs = make_op(
      "swiglu", {y}, {{"gate", widened(gate)}, {"up", widened(up)}}, run);
  return rounded(outputs[0], gate.dtype());
}

}  // namespace tiny_llm::ops

namespace tiny_llm {

void bind_fused(nanobind::module_& module) {
  module.def("rms_norm", &ops::rms_norm);
  module.def("add_rms_norm", &ops::add_rms_norm);
  module.def("rope", &ops::rope);
  module.def("swiglu", &ops::swiglu);
}

}  // namespace tiny_llm
