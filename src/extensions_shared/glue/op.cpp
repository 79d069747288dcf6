#include "glue/op.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <set>
#include <stdexcept>
#include <utility>

#include <mlx/allocator.h>
#include <mlx/backend/cpu/encoder.h>
#include <mlx/device.h>
#include <mlx/ops.h>
#include <mlx/transforms.h>

#include "glue/watched.h"

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

/// The names of kernels that this process has run: they are no stubs.
class Names {
 public:
  bool have(const std::string& name) {
    const std::lock_guard lock(mutex_);
    return names_.contains(name);
  }

  void add(const std::string& name) {
    const std::lock_guard lock(mutex_);
    names_.insert(name);
  }

 private:
  std::mutex mutex_;
  std::set<std::string> names_;
};

std::vector<mx::array> evaluated(const std::vector<Input>& inputs, Inputs wanted) {
  std::vector<mx::array> arrays;
  for (const Input& input : inputs) {
    const bool is_copied = wanted == Inputs::in_order;
    arrays.push_back(
        is_copied ? mx::contiguous(input.array, false, mx::Device::cpu) : input.array);
  }
  mx::eval(arrays);
  return arrays;
}

/// Run a kernel at once, on this thread.
std::vector<mx::array> run_here(
    const std::vector<Output>& outputs, const std::vector<mx::array>& in, const Run& run) {
  std::vector<mx::array> out;
  for (const Output& output : outputs) {
    mx::array& y = out.emplace_back(output.shape, output.dtype, nullptr, std::vector<mx::array>{});
    y.set_data(mx::allocator::malloc(y.nbytes()));
    y.set_status(mx::array::Status::available);
  }
  run(in, out);
  return out;
}

/// Likewise, and see that it writes to its outputs and to nothing else.
std::vector<mx::array> run_watched(
    const std::string& name,
    const std::vector<Output>& outputs,
    const std::vector<Input>& inputs,
    const std::vector<mx::array>& arrays,
    const Run& run) {
  std::vector<Zoned> read, written;
  std::vector<mx::array> in, out;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    in.push_back(read.emplace_back(inputs[i].name, arrays[i]).array());
  }
  for (const Output& one : outputs) {
    out.push_back(written.emplace_back(one.name, one.shape, one.dtype).array());
  }
  run(in, out);
  for (const Zoned& one : written) one.expect_zones(name);
  for (const Zoned& one : read) one.expect_unchanged(name);
  return out;
}

std::vector<mx::array> make(
    std::string name,
    const std::vector<Output>& outputs,
    const std::vector<Input>& inputs,
    Run run,
    Inputs wanted) {
  const mx::Stream stream = mx::default_stream(mx::Device::cpu);
  std::vector<mx::array> arrays;
  std::vector<mx::Shape> shapes;
  std::vector<mx::Dtype> dtypes;
  bool is_empty = true;
  for (const Input& input : inputs) arrays.push_back(input.array);
  for (const Output& output : outputs) {
    const auto& shape = output.shape;
    is_empty = is_empty && std::find(shape.begin(), shape.end(), 0) != shape.end();
    shapes.push_back(shape);
    dtypes.push_back(output.dtype);
  }
  if (is_empty) return run_here(outputs, arrays, [](const auto&, const auto&) {});
  if (are_watched()) {
    return run_watched(name, outputs, inputs, evaluated(inputs, wanted), run);
  }
  static Names names;
  if (!names.have(name)) {
    const auto results = run_here(outputs, evaluated(inputs, wanted), run);
    names.add(name);
    return results;
  }
  return mx::array::make_arrays(
      std::move(shapes),
      dtypes,
      std::make_shared<Kernel>(stream, std::move(name), std::move(run), wanted),
      arrays);
}

}  // namespace

std::vector<mx::array> make_op(
    std::string name,
    const std::vector<Output>& outputs,
    const std::vector<Input>& inputs,
    Run run) {
  return make(std::move(name), outputs, inputs, std::move(run), Inputs::in_order);
}

std::vector<mx::array> make_strided_op(
    std::string name,
    const std::vector<Output>& outputs,
    const std::vector<Input>& inputs,
    Run run) {
  return make(std::move(name), outputs, inputs, std::move(run), Inputs::as_they_lie);
}

std::vector<std::int32_t> integers_of(mx::array x) {
  x.eval();
  if (x.dtype() != mx::int32 || !is_in_order(x)) {
    x = mx::contiguous(
        mx::astype(x, mx::int32, mx::Device::cpu), false, mx::Device::cpu);
    x.eval();
  }
  const auto* const first = x.data<std::int32_t>();
  return {first, first + x.size()};
}

}  // namespace tiny_llm
