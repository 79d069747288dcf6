#include "glue/attention.h"

#include <algorithm>
#include <string>
#include <vector>

#include <mlx/ops.h>
#include <nanobind/stl/optional.h>

#include "glue/checks.h"
#include "glue/op.h"
#include "kernels/attention.h"

namespace mx = mlx::core;

namespace tiny_llm::ops {

namespace {

void expect_heads(
    const mx::array& query,
    const mx::array& key,
    const mx::array& value,
    const Masking& masking,
    const std::string& name) {
  for (const mx::array* one : {&query, &key, &value}) {
    expect_floats(*one, name);
    expect(one->ndim() == 4, name, "B x H x L x D", text_of(one->shape()));
    expect_countable(*one, name);
  }
  const auto text = [](int number) { return std::to_string(number); };
  const int num_kv_heads = key.shape(1), num_keys = key.shape(2);
  expect(query.shape(3) > 0, name, "heads with a width", text_of(query.shape()));
  expect(num_kv_heads > 0, name, "key heads", text_of(key.shape()));
  expect(num_keys > 0, name, "keys", text_of(key.shape()));
  expect(
      query.shape(1) % num_kv_heads == 0, name,
      "query heads to be a multiple of " + text(num_kv_heads) + " key heads",
      text(query.shape(1)));
  expect_shape(key, {query.shape(0), num_kv_heads, num_keys, query.shape(3)}, name);
  expect_shape(value, key.shape(), name);
  expect(
      !masking.is_causal || query.shape(2) <= num_keys, name,
      "no more queries than " + text(num_keys) + " keys", text(query.shape(2)));
  if (masking.added) expect_floats(*masking.added, name);
}

/// An evaluated array with four axes, whose last one has its numbers side by side.
///
/// It is the array itself if that is so already, and else owns a copy.
class Rows4 {
 public:
  explicit Rows4(const mx::array& x) : data_(x.data<float>()) {
    strides_.assign(x.strides().begin(), x.strides().end());
    if (x.strides(3) != 1 && x.shape(3) > 1) copy(x);
  }

  Heads heads() const { return {data_, strides_[0], strides_[1], strides_[2]}; }

 private:
  void copy(const mx::array& x) {
    copy_.reserve(x.size());
    const Heads apart = heads();
    for (int b = 0; b < x.shape(0); ++b) {
      for (int h = 0; h < x.shape(1); ++h) {
        for (int i = 0; i < x.shape(2); ++i) {
          for (int d = 0; d < x.shape(3); ++d) {
            copy_.push_back(apart.at(b, h, i)[d * strides_[3]]);
          }
        }
      }
    }
    data_ = copy_.data();
    strides_[2] = x.shape(3);
    strides_[1] = strides_[2] * x.shape(2);
    strides_[0] = strides_[1] * x.shape(1);
  }

  const float* data_;
  std::vector<std::ptrdiff_t> strides_;
  std::vector<float> copy_;
};

Mask mask_of(const mx::array& x) {
  const auto& s = x.strides();
  return {x.data<float>(), s[0], s[1], s[2], s[3]};
}

}  // namespace

mx::array attention(
    const std::string& name,
    const Kernel& kernel,
    const mx::array& query,
    const mx::array& key,
    const mx::array& value,
    float scale,
    const Masking& masking) {
  expect_heads(query, key, value, masking, name);
  const auto wide = [](const mx::array& x) {
    return mx::astype(x, mx::float32, mx::Device::cpu);
  };
  std::vector<Input> inputs{
      {"query", wide(query)}, {"key", wide(key)}, {"value", wide(value)}};
  if (masking.added) {
    const mx::Shape scores{
        query.shape(0), query.shape(1), query.shape(2), key.shape(2)};
    inputs.push_back(
        {"mask", mx::broadcast_to(wide(*masking.added), scores, mx::Device::cpu)});
  }
  const auto run = [=, is_causal = masking.is_causal](
                       const std::vector<mx::array>& in, std::vector<mx::array>& out) {
    const Rows4 q(in[0]), k(in[1]), v(in[2]);
    kernel(Attention{
        .query = q.heads(), .key = k.heads(), .value = v.heads(),
        .mask = in.size() > 3 ? mask_of(in[3]) : Mask{},
        .is_causal = is_causal, .scale = scale, .output = out[0].data<float>(),
        .num_batches = in[0].shape(0), .num_heads = in[0].shape(1),
        .num_kv_heads = in[1].shape(1), .num_queries = in[0].shape(2),
        .num_keys = in[1].shape(2), .width = in[0].shape(3)});
  };
  const Output y{"output", query.shape(), mx::float32};
  return mx::astype(
      make_strided_op(name, {y}, inputs, run)[0], query.dtype(), mx::Device::cpu);
}

}  // namespace tiny_llm::ops

namespace tiny_llm {

namespace tiles {

// See glue/compiled.h.
template void multiply_add(Factor<false>, ConstTile, Tile, int, int, int);
template void multiply_add(Factor<true>, ConstTile, Tile, int, int, int);

}  // namespace tiles

void bind_attention(nanobind::module_& module) {
  using mx::array;
  using nanobind::arg;
  const auto define = [&](const char* name, const ops::Kernel& kernel) {
    const auto attend = [=](const array& query, const array& key, const array& value,
                            float scale, bool is_causal, std::optional<array> mask) {
      return ops::attention(name, kernel, query, key, value, scale, {is_causal, mask});
    };
    module.def(
        name, attend, arg("query"), arg("key"), arg("value"), arg("scale"),
        arg("is_causal"), arg("mask").none());
  };
  define("attention_online", attention_online);
  define("attention_tiled", attention_tiled);
  define("attention_split", attention_split);
}

}  // namespace tiny_llm
