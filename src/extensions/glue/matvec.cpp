#include "glue/matvec.h"

#include <string>

#include <mlx/ops.h>

#include "glue/checks.h"
#include "glue/op.h"
#include "kernels/int8.h"
#include "kernels/matvec.h"
#include "kernels/matvec_int8.h"

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
  const QuantizedMatrix<float> nothing{nullptr, nullptr, nullptr, 0, 0, 64, 4};
  constexpr float* nowhere = nullptr;
  rung(nowhere, nothing, nowhere, Rows{0, 0});
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

/// Round x for this matrix, in memory that this thread keeps.
template <class Scale>
Int8Activations rounded(const float* x, const QuantizedMatrix<Scale>& w) {
  thread_local Int8Buffer buffer;
  return buffer.round(x, w.num_columns, w.group_size, w.bits);
}

}  // namespace

mx::array matvec_naive(const mx::array& x, const Weight& w) {
  return matvec("matvec_naive", x, w, [](auto... all) {
    tiny_llm::matvec_naive(all...);
  });
}

mx::array matvec_blocked(const mx::array& x, const Weight& w) {
  return matvec("matvec_blocked", x, w, [](auto... all) {
    tiny_llm::matvec_blocked(all...);
  });
}

mx::array matvec_simd(const mx::array& x, const Weight& w) {
  return matvec("matvec_simd", x, w, [](auto... all) {
    tiny_llm::matvec_simd(all...);
  });
}

mx::array matvec_int8(const mx::array& x, const Weight& w) {
  return matvec("matvec_int8", x, w, [](auto* in, auto matrix, auto* y, Rows rows) {
    tiny_llm::matvec_int8(rounded(in, matrix), matrix, y, rows);
  });
}

mx::array matvec_threaded(const mx::array& x, const Weight& w) {
  return matvec("matvec_threaded", x, w, [](auto* in, auto matrix, auto* y, Rows) {
    tiny_llm::matvec_threaded(rounded(in, matrix), matrix, y);
  });
}

}  // namespace tiny_llm::ops

namespace tiny_llm {

// See glue/compiled.h.
template void matvec_int8(
    const Int8Activations&, const QuantizedMatrix<float>&, float*, Rows);
template void matvec_int8(
    const Int8Activations&, const QuantizedMatrix<Float16>&, float*, Rows);
template void matvec_int8(
    const Int8Activations&, const QuantizedMatrix<BFloat16>&, float*, Rows);

void bind_matvec(nanobind::module_& module) {
  module.def("matvec_naive", &ops::matvec_naive);
  module.def("matvec_blocked", &ops::matvec_blocked);
  module.def("matvec_simd", &ops::matvec_simd);
  module.def("matvec_int8", &ops::matvec_int8);
  module.def("matvec_threaded", &ops::matvec_threaded);
}

}  // namespace tiny_llm
