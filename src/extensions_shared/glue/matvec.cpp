#include "glue/matvec.h"

#include <string>

#include <mlx/ops.h>

#include "glue/checks.h"
#include "glue/op.h"
#include "glue/watched.h"
#include "kernels/int8.h"
#include "kernels/matvec.h"
#include "kernels/matvec_int8.h"

namespace mx = mlx::core;

namespace tiny_llm::ops {

namespace {

/// Make an operation of a rung: `rung(x, matrix, outputs)`.
template <class Rung>
mx::array matvec(
    const std::string& name, const mx::array& x, const Weight& w, Rung rung) {
  expect_weight(w, name);
  expect_floats(x, name);
  expect_shape(x, {w.num_columns()}, name);
  if (w.num_columns() == 0) return mx::zeros({w.num_rows()}, x.dtype());
  const mx::array wide = mx::astype(x, mx::float32, mx::Device::cpu);
  const auto run = [=, group_size = w.group_size, bits = w.bits](
                       const std::vector<mx::array>& in, std::vector<mx::array>& out) {
    with_scale_type(in[2].dtype(), [&]<class Scale>(Scale) {
      const auto matrix = matrix_of<Scale>(in[1], in[2], in[3], group_size, bits);
      rung(in[0].data<float>(), matrix, out);
    });
  };
  const Output y{"y", {w.num_rows()}, mx::float32};
  const auto outputs = make_op(name, {y}, with_matrix({"x", wide}, w), run);
  return mx::astype(outputs[0], x.dtype(), mx::Device::cpu);
}

/// Let `rung(matrix, y, rows)` do all rows, as the last ones of a larger matrix.
template <class Scale, class Rung>
void do_last_rows(const QuantizedMatrix<Scale>& w, float* y, const Rung& rung) {
  const QuantizedMatrix<Scale> large = ending_in(w);
  const int before = large.num_rows - w.num_rows;
  rung(large, y - before, Rows{before, large.num_rows});
}

/// Make an operation of a rung that computes some rows: `rung(x, matrix, y, rows)`.
///
/// If it is watched, it is run once more as `do_last_rows` says.
template <class Rung>
mx::array matvec_of_rows(
    const std::string& name, const mx::array& x, const Weight& w, Rung rung) {
  const mx::array result = matvec(name, x, w, [=](auto* in, auto matrix, auto& out) {
    do_rows(name, matrix.num_rows, out, [&](Rows rows) {
      rung(in, matrix, out[0].template data<float>(), rows);
    });
  });
  if (!are_watched()) return result;
  matvec(name, x, w, [=](auto* in, auto matrix, auto& out) {
    float* const y = out[0].template data<float>();
    do_last_rows(matrix, y, [&](auto large, float* to, Rows rows) {
      rung(in, large, to, rows);
    });
  });
  return result;
}

/// Round x for this matrix, in memory that this thread keeps.
template <class Scale>
Int8Activations rounded(const float* x, const QuantizedMatrix<Scale>& w) {
  thread_local Int8Buffer buffer;
  return buffer.round(x, w.num_columns, w.group_size, w.bits);
}

/// Call `rung` with x rounded for this matrix. If it is watched, so is the rounding.
template <class Scale, class Rung>
void with_rounded(const float* x, const QuantizedMatrix<Scale>& w, Rung rung) {
  if (!are_watched()) return rung(rounded(x, w));
  const Zoned q("to.q", {w.num_columns}, mx::int8);
  const Zoned scales("to.scales", {w.groups()}, mx::float32);
  const Zoned sums("to.sums", {w.groups()}, mx::float32);
  const auto numbers = [](const Zoned& one) {
    return const_cast<float*>(one.array().data<float>());
  };
  const Int8Activations to{
      const_cast<std::int8_t*>(q.array().data<std::int8_t>()), numbers(scales),
      numbers(sums), w.num_columns, w.group_size, w.bits};
  quantize_activations(x, to);
  for (const Zoned* one : {&q, &scales, &sums}) {
    one->expect_zones("quantize_activations");
  }
  rung(to);
}

}  // namespace

mx::array matvec_naive(const mx::array& x, const Weight& w) {
  return matvec_of_rows("matvec_naive", x, w, [](auto... all) {
    tiny_llm::matvec_naive(all...);
  });
}

mx::array matvec_blocked(const mx::array& x, const Weight& w) {
  return matvec_of_rows("matvec_blocked", x, w, [](auto... all) {
    tiny_llm::matvec_blocked(all...);
  });
}

mx::array matvec_simd(const mx::array& x, const Weight& w) {
  return matvec_of_rows("matvec_simd", x, w, [](auto... all) {
    tiny_llm::matvec_simd(all...);
  });
}

mx::array matvec_int8(const mx::array& x, const Weight& w) {
  return matvec_of_rows(
      "matvec_int8", x, w, [](auto* in, auto matrix, float* y, Rows rows) {
        with_rounded(in, matrix, [&](const Int8Activations& activations) {
          tiny_llm::matvec_int8(activations, matrix, y, rows);
        });
      });
}

mx::array matvec_threaded(const mx::array& x, const Weight& w) {
  return matvec("matvec_threaded", x, w, [](auto* in, auto matrix, auto& out) {
    with_rounded(in, matrix, [&](const Int8Activations& activations) {
      tiny_llm::matvec_threaded(
          activations, matrix, out[0].template data<float>());
    });
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
