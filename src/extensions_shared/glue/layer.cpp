#include "glue/layer.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include <mlx/allocator.h>
#include <mlx/backend/cpu/encoder.h>
#include <mlx/primitives.h>
#include <nanobind/stl/vector.h>

#include "glue/checks.h"
#include "glue/compiled.h"
#include "glue/in_place.h"
#include "glue/layer_weights.h"
#include "glue/op.h"
#include "glue/rotations.h"
#include "kernels/layer.h"

namespace mx = mlx::core;

namespace tiny_llm::ops {

namespace {

constexpr const char* where = "Layer";

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
    // Of a long text, the first tokens go before the others, which find them in the
    // cache. What is computed of 256 takes 20 MB with 0.5B parameters, and more tokens
    // together are no faster.
    const int num_pieces = (num_tokens - 1) / 256 + 1;
    const auto begin = [&](int piece) {
      return static_cast<int>(std::int64_t{num_tokens} * piece / num_pieces);
    };
    for (int piece = 0; piece < num_pieces; ++piece) {
      const int first = begin(piece);
      LayerCache own = cache;
      own.offset += first;
      const std::ptrdiff_t at = std::ptrdiff_t{first} * arrays.hidden_size();
      const LayerParts<Scale> parts{weights, own, begin(piece + 1) - first};
      run_layer(parts, x + at, y + at);
    }
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
  std::shared_ptr<const LayerArrays> arrays_;
  int offset_;
};

}  // namespace

Layer::Layer(LayerArrays arrays) {
  arrays = checked(std::move(arrays), where);
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
