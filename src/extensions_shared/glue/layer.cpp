#include "glue/layer.h"

#include <string>
#include <utility>

#include <mlx/allocator.h>
#include <mlx/backend/cpu/encoder.h>
#include <mlx/ops.h>
#include <mlx/primitives.h>
#include <mlx/transforms.h>
#include <nanobind/stl/vector.h>

#include "glue/checks.h"
#include "glue/compiled.h"
#include "glue/op.h"
#include "glue/rotations.h"
#include "kernels/layer.h"

namespace mx = mlx::core;

namespace tiny_llm::ops {

namespace {

constexpr const char* where = "Layer";

/// Look at the arrays of a layer as what its kernels take.
template <class Scale>
LayerWeights<Scale> weights_of(const LayerArrays& arrays, const Rotations& table) {
  const auto matrix = [&](std::size_t index) {
    const Weight& w = arrays.matrices[index];
    return matrix_of<Scale>(w.words, w.scales, w.biases, w.group_size, w.bits);
  };
  const auto vector = [&](std::size_t index) {
    return arrays.vectors[index].data<float>();
  };
  const auto norm = [&](std::size_t index) {
    return Norm{vector(index), arrays.eps, arrays.hidden_size()};
  };
  return {
      .query = matrix(0),
      .key = matrix(1),
      .value = matrix(2),
      .output = matrix(3),
      .gate = matrix(4),
      .up = matrix(5),
      .down = matrix(6),
      .query_bias = vector(0),
      .key_bias = vector(1),
      .value_bias = vector(2),
      .input_norm = norm(3),
      .post_attention_norm = norm(4),
      .cosines = table.cosines.data(),
      .sines = table.sines.data(),
      .num_heads = arrays.num_heads,
      .num_kv_heads = arrays.num_kv_heads(),
      .head_dim = arrays.head_dim()};
}

/// Carry L tokens through the layer: x, L x E, into y.
void run(
    const LayerArrays& arrays,
    const Rotations& table,
    const LayerCache& cache,
    int num_tokens,
    const float* x,
    float* y) {
  with_scale_type(arrays.matrices[0].scales.dtype(), [&]<class Scale>(Scale) {
    const auto weights = weights_of<Scale>(arrays, table);
    run_layer(LayerParts<Scale>{weights, cache, num_tokens}, x, y);
  });
}

/// Carry a token of zeros through the layer, on this thread, at position 0.
///
/// A stub throws, which the thread of MLX must not do.
void expect_written(const LayerArrays& arrays) {
  const auto all = [](float number, int size) {
    return std::vector<float>(static_cast<std::size_t>(size), number);
  };
  const int half = arrays.head_dim() / 2, kv_size = arrays.matrices[1].num_rows();
  std::vector<float> keys = all(0, kv_size), values = keys;
  const std::vector<float> x = all(0, arrays.hidden_size());
  std::vector<float> y = x;
  const LayerCache cache{keys.data(), values.data(), 1, 0};
  run(arrays, {all(1, half), all(0, half)}, cache, 1, x.data(), y.data());
}

/// Give `output` the memory of `input`, or memory of its own if other arrays look at it.
///
/// `is_donatable` is never true here: each of several outputs holds the inputs.
void take_over(const mx::array& input, mx::array& output) {
  const auto& data = input.data_shared_ptr();
  if (data.use_count() == 1 && data->is_owned() && is_in_order(input)) {
    output.copy_shared_buffer(input);
  } else {
    output.set_data(mx::allocator::malloc(output.nbytes()));
  }
}

class LayerOperation : public mx::Primitive {
 public:
  LayerOperation(mx::Stream stream, std::shared_ptr<const LayerArrays> arrays, int offset)
      : mx::Primitive(stream),
        arrays_(std::move(arrays)),
        offset_(offset) {}

  void eval_cpu(
      const std::vector<mx::array>& inputs, std::vector<mx::array>& outputs) override {
    outputs[0].set_data(mx::allocator::malloc(outputs[0].nbytes()));
    take_over(inputs[1], outputs[1]);
    take_over(inputs[2], outputs[2]);
    const auto weak = [](const mx::array& one) {
      return mx::array::unsafe_weak_copy(one);
    };
    const mx::array x = in_order(inputs[0], stream());
    const auto table = rotations_for(
        arrays_->head_dim(), arrays_->base, offset_ + inputs[0].shape(1));
    mx::cpu::get_command_encoder(stream()).dispatch(
        [arrays = arrays_, table, offset = offset_, x = weak(x),
         old_keys = weak(inputs[1]), old_values = weak(inputs[2]), y = weak(outputs[0]),
         keys = weak(outputs[1]), values = weak(outputs[2])]() mutable {
          copy_if_moved(old_keys, keys);
          copy_if_moved(old_values, values);
          const LayerCache cache{
              keys.data<float>(), values.data<float>(), keys.shape(2), offset};
          run(*arrays, *table, cache, x.shape(1), x.data<float>(), y.data<float>());
        });
  }

  void eval_gpu(const std::vector<mx::array>&, std::vector<mx::array>&) override {
    throw std::runtime_error("Layer: expected a CPU stream, got a GPU stream");
  }

  const char* name() const override { return where; }

 private:
  static void copy_if_moved(const mx::array& from, mx::array& to) {
    if (from.data<float>() != to.data<float>()) copy_in_order(from, to);
  }

  std::shared_ptr<const LayerArrays> arrays_;
  int offset_;
};

mx::array ready(const mx::array& array, mx::Dtype dtype) {
  return mx::contiguous(
      mx::astype(array, dtype, mx::Device::cpu), false, mx::Device::cpu);
}

}  // namespace

Layer::Layer(LayerArrays arrays) {
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
  // Once for all layers. If it throws, the next one asks again.
  [[maybe_unused]] static const bool is_written = (expect_written(arrays), true);
  arrays_ = std::make_shared<const LayerArrays>(std::move(arrays));
}

std::vector<mx::array> Layer::operator()(
    const mx::array& x, const mx::array& keys, const mx::array& values, int offset) const {
  const LayerArrays& w = *arrays_;
  expect(x.ndim() == 3 && x.shape(1) > 0, where, "x of shape (1, L, E)",
         text_of(x.shape()));
  expect_shape(x, {1, x.shape(1), w.hidden_size()}, where);
  expect(keys.ndim() == 4, where, "keys with four axes", text_of(keys.shape()));
  expect_shape(keys, {1, w.num_kv_heads(), keys.shape(2), w.head_dim()}, where);
  expect_shape(values, keys.shape(), where);
  for (const mx::array& one : {x, keys, values}) {
    expect(one.dtype() == mx::float32, where, "float32", text_of(one.dtype()));
  }
  expect(offset >= 0 && offset <= keys.shape(2) - x.shape(1), where,
         "room for the new tokens",
         "place " + std::to_string(offset) + " of " + std::to_string(keys.shape(2)));
  expect_positions(offset, x.shape(1), where);
  const mx::Stream stream = mx::default_stream(mx::Device::cpu);
  return mx::array::make_arrays(
      {x.shape(), keys.shape(), keys.shape()},
      {mx::float32, mx::float32, mx::float32},
      std::make_shared<LayerOperation>(stream, arrays_, offset),
      // The buffers as they are: a copy in order would be one that somebody else holds.
      {x, keys, values});
}

}  // namespace tiny_llm::ops

namespace tiny_llm {

void bind_layer(nanobind::module_& module) {
  using mlx::core::array;
  // A function and no class: two solutions may be loaded, and would share the class.
  module.def(
      "Layer",
      [](std::vector<Weight> matrices, std::vector<array> vectors, int num_heads,
         float eps, double base) {
        ops::Layer layer({std::move(matrices), std::move(vectors), num_heads, eps, base});
        return nanobind::cpp_function(
            [layer = std::move(layer)](
                const array& x, const array& keys, const array& values, int offset) {
              return layer(x, keys, values, offset);
            });
      });
}

}  // namespace tiny_llm
