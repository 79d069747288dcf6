#include "glue/op.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <utility>

#include <mlx/allocator.h>
#include <mlx/backend/cpu/encoder.h>
#include <mlx/device.h>
#include <mlx/ops.h>

namespace tiny_llm {

namespace mx = mlx::core;

namespace {

/// Copy the entries from `axis` on, in order. Returns where the next one goes.
std::byte* copy_axis(
    const mx::array& x, const std::byte* from, std::byte* to, int axis) {
  const auto item = static_cast<std::int64_t>(x.itemsize());
  if (axis == static_cast<int>(x.ndim())) {
    std::memcpy(to, from, x.itemsize());
    return to + item;
  }
  if (axis == static_cast<int>(x.ndim()) - 1 && x.strides(axis) == 1) {
    const std::int64_t row = x.shape(axis) * item;
    std::memcpy(to, from, static_cast<std::size_t>(row));
    return to + row;
  }
  for (int i = 0; i < x.shape(axis); ++i) {
    to = copy_axis(x, from + i * x.strides(axis) * item, to, axis + 1);
  }
  return to;
}

}  // namespace

bool is_in_order(const mx::array& x) {
  std::int64_t expected = 1;
  for (int axis = static_cast<int>(x.ndim()) - 1; axis >= 0; --axis) {
    if (x.shape(axis) != 1 && x.strides(axis) != expected) return false;
    expected *= x.shape(axis);
  }
  return true;
}

void copy_in_order(const mx::array& from, mx::array& to) {
  copy_axis(from, from.data<std::byte>(), to.data<std::byte>(), 0);
}

mx::array in_order(const mx::array& x, mx::Stream stream) {
  if (is_in_order(x)) return x;
  mx::array y(x.shape(), x.dtype(), nullptr, {});
  y.set_data(mx::allocator::malloc(y.nbytes()));
  auto& encoder = mx::cpu::get_command_encoder(stream);
  encoder.dispatch([from = mx::array::unsafe_weak_copy(x),
                    to = mx::array::unsafe_weak_copy(y)]() mutable {
    copy_in_order(from, to);
  });
  // Unlike an input, it is kept by nobody else.
  encoder.add_temporary(y);
  return y;
}

namespace {

/// How a kernel wants to find its inputs in memory.
enum class Inputs { in_order, as_they_lie };

class Kernel : public mx::Primitive {
 public:
  Kernel(mx::Stream stream, std::string name, Run run, Inputs wanted)
      : mx::Primitive(stream),
        name_(std::move(name)),
        run_(std::move(run)),
        wanted_(wanted) {}

  void eval_cpu(
      const std::vector<mx::array>& inputs, std::vector<mx::array>& outputs) override {
    for (mx::array& output : outputs) {
      output.set_data(mx::allocator::malloc(output.nbytes()));
    }
    // MLX keeps the buffers of inputs and outputs until its thread is done with them.
    std::vector<mx::array> in, out;
    for (const mx::array& input : inputs) {
      in.push_back(mx::array::unsafe_weak_copy(
          wanted_ == Inputs::as_they_lie ? input : in_order(input, stream())));
    }
    for (const mx::array& output : outputs) {
      out.push_back(mx::array::unsafe_weak_copy(output));
    }
    mx::cpu::get_command_encoder(stream()).dispatch(
        [run = run_, in = std::move(in), out = std::move(out)]() mutable {
          run(in, out);
        });
  }

  void eval_gpu(const std::vector<mx::array>&, std::vector<mx::array>&) override {
    throw std::runtime_error(name_ + ": expected a CPU stream, got a GPU stream");
  }

  const char* name() const override { return name_.c_str(); }

 private:
  std::string name_;
  Run run_;
  Inputs wanted_;
};

std::vector<mx::array> make(
    std::string name,
    const std::vector<Output>& outputs,
    const std::vector<mx::array>& inputs,
    Run run,
    Inputs wanted) {
  const mx::Stream stream = mx::default_stream(mx::Device::cpu);
  std::vector<mx::Shape> shapes;
  std::vector<mx::Dtype> dtypes;
  for (const Output& output : outputs) {
    shapes.push_back(output.shape);
    dtypes.push_back(output.dtype);
  }
  return mx::array::make_arrays(
      std::move(shapes),
      dtypes,
      std::make_shared<Kernel>(stream, std::move(name), std::move(run), wanted),
      inputs);
}

}  // namespace

std::vector<mx::array> make_op(
    std::string name,
    const std::vector<Output>& outputs,
    const std::vector<mx::array>& inputs,
    Run run) {
  return make(std::move(name), outputs, inputs, std::move(run), Inputs::in_order);
}

std::vector<mx::array> make_strided_op(
    std::string name,
    const std::vector<Output>& outputs,
    const std::vector<mx::array>& inputs,
    Run run) {
  return make(std::move(name), outputs, inputs, std::move(run), Inputs::as_they_lie);
}

}  // namespace tiny_llm
