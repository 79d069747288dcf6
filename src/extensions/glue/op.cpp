#include "glue/op.h"

#include <stdexcept>
#include <utility>

#include <mlx/allocator.h>
#include <mlx/backend/cpu/encoder.h>
#include <mlx/device.h>
#include <mlx/ops.h>

namespace tiny_llm {

namespace mx = mlx::core;

namespace {

class Kernel : public mx::Primitive {
 public:
  Kernel(mx::Stream stream, std::string name, Run run)
      : mx::Primitive(stream), name_(std::move(name)), run_(std::move(run)) {}

  void eval_cpu(
      const std::vector<mx::array>& inputs, std::vector<mx::array>& outputs) override {
    for (mx::array& output : outputs) {
      output.set_data(mx::allocator::malloc(output.nbytes()));
    }
    // MLX keeps the buffers of inputs and outputs until its thread is done with them.
    auto weak = [](const std::vector<mx::array>& arrays) {
      std::vector<mx::array> copies;
      copies.reserve(arrays.size());
      for (const mx::array& one : arrays) {
        copies.push_back(mx::array::unsafe_weak_copy(one));
      }
      return copies;
    };
    mx::cpu::get_command_encoder(stream()).dispatch(
        [run = run_, in = weak(inputs), out = weak(outputs)]() mutable { run(in, out); });
  }

  void eval_gpu(const std::vector<mx::array>&, std::vector<mx::array>&) override {
    throw std::runtime_error(name_ + ": expected a CPU stream, got a GPU stream");
  }

  const char* name() const override { return name_.c_str(); }

 private:
  std::string name_;
  Run run_;
};

}  // namespace

std::vector<mx::array> make_op(
    std::string name,
    const std::vector<Output>& outputs,
    const std::vector<mx::array>& inputs,
    Run run) {
  const mx::Stream stream = mx::default_stream(mx::Device::cpu);
  std::vector<mx::array> contiguous;
  contiguous.reserve(inputs.size());
  for (const mx::array& input : inputs) {
    contiguous.push_back(mx::contiguous(input, false, stream));
  }
  std::vector<mx::Shape> shapes;
  std::vector<mx::Dtype> dtypes;
  for (const Output& output : outputs) {
    shapes.push_back(output.shape);
    dtypes.push_back(output.dtype);
  }
  return mx::array::make_arrays(
      std::move(shapes),
      dtypes,
      std::make_shared<Kernel>(stream, std::move(name), std::move(run)),
      contiguous);
}

}  // namespace tiny_llm
