#include "glue/layer_rows.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>

#include <mlx/allocator.h>
#include <mlx/backend/cpu/encoder.h>
#include <mlx/ops.h>
#include <mlx/primitives.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include "glue/checks.h"
#include "glue/in_place.h"
#include "glue/op.h"
#include "glue/rotations.h"
#include "glue/run_rows.h"
#include "kernels/threads.h"

namespace mx = mlx::core;

namespace tiny_llm::ops {

namespace {

constexpr const char* rows_where = "LayerRows";

/// The rows of a call, before it is known where their keys and values lie.
struct Texts {
  NewTokens tokens;
  bool in_pages;
  std::vector<std::int32_t> table;  ///< rows x M. Without pages, a zero for each row
  std::size_t table_size;           ///< M

  int last_position() const {
    int last = 0;
    for (std::size_t i = 0; i < tokens.lengths.size(); ++i) {
      last = std::max(last, tokens.offsets[i] + tokens.lengths[i]);
    }
    return last;
  }
};

/// Look at the outputs of the operation: the stream, then keys, then values.
std::vector<LayerRow> rows_of(const Texts& texts, std::vector<mx::array>& outputs) {
  const std::size_t num_buffers = outputs.size() / 2;
  std::vector<LayerRow> rows;
  for (std::size_t i = 0; i < texts.tokens.lengths.size(); ++i) {
    const std::size_t own = texts.in_pages ? 1 : 1 + i;
    rows.push_back(
        {texts.tokens.lengths[i], texts.tokens.offsets[i], outputs[own].data<float>(),
         outputs[own + num_buffers].data<float>(), outputs[own].shape(2),
         texts.table.data() + i * texts.table_size});
  }
  return rows;
}

/// Carry zeros through the layer, all on this thread: a token, and then two rows.
///
/// A stub throws, which no other thread may do. One token takes other kernels than
/// several do, and the second row is so long that it takes others than the first one.
void expect_rows_written(const LayerArrays& arrays, bool in_pages) {
  constexpr int num_tokens = 17, page_size = 32;
  const auto all = [](float number, int size) {
    return std::vector<float>(static_cast<std::size_t>(size), number);
  };
  const int half = arrays.head_dim() / 2, kv_size = arrays.matrices[1].num_rows();
  const Rotations still{all(1, num_tokens * half), all(0, num_tokens * half)};
  std::vector<float> keys = all(0, 2 * page_size * kv_size), values = keys;
  const std::int32_t pages[] = {1, 0};  // one for each row
  const auto row = [&](int length, const std::int32_t* table) {
    return LayerRow{length, 0, keys.data(), values.data(), page_size, table};
  };
  const std::vector<float> x = all(0, (1 + num_tokens) * arrays.hidden_size());
  std::vector<float> y = x;
  const Alone alone;
  for (const std::vector<LayerRow>& rows :
       {std::vector{row(1, pages)},
        std::vector{row(1, pages), row(num_tokens, pages + 1)}}) {
    run_rows(arrays, still, rows, in_pages, x.data(), y.data());
  }
}

class LayerRowsOperation : public mx::Primitive {
 public:
  LayerRowsOperation(
      mx::Stream stream, std::shared_ptr<const LayerArrays> arrays, Texts texts)
      : mx::Primitive(stream),
        arrays_(std::move(arrays)),
        texts_(std::make_shared<const Texts>(std::move(texts))) {}

  void eval_cpu(
      const std::vector<mx::array>& inputs, std::vector<mx::array>& outputs) override {
    outputs[0].set_data(mx::allocator::malloc(outputs[0].nbytes()));
    std::vector<mx::array> in{weak(in_order(inputs[0], stream()))};
    std::vector<mx::array> out{weak(outputs[0])};
    for (std::size_t i = 1; i < inputs.size(); ++i) {
      take_over(inputs[i], outputs[i]);
      in.push_back(weak(inputs[i]));
      out.push_back(weak(outputs[i]));
    }
    const auto rotations =
        rotations_for(arrays_->head_dim(), arrays_->base, texts_->last_position());
    mx::cpu::get_command_encoder(stream()).dispatch(
        [arrays = arrays_, texts = texts_, rotations, in, out]() mutable {
          for (std::size_t i = 1; i < in.size(); ++i) copy_if_moved(in[i], out[i]);
          run_rows(
              *arrays, *rotations, rows_of(*texts, out), texts->in_pages,
              in[0].data<float>(), out[0].data<float>());
        });
  }

  void eval_gpu(const std::vector<mx::array>&, std::vector<mx::array>&) override {
    throw std::runtime_error("LayerRows: expected a CPU stream, got a GPU stream");
  }

  const char* name() const override { return rows_where; }

 private:
  static mx::array weak(const mx::array& one) {
    return mx::array::unsafe_weak_copy(one);
  }

  std::shared_ptr<const LayerArrays> arrays_;
  std::shared_ptr<const Texts> texts_;
};

/// Fail unless the stream has a vector for each new token.
void expect_stream(const LayerArrays& w, const mx::array& x, const NewTokens& tokens) {
  const auto& [lengths, offsets] = tokens;
  expect(!lengths.empty() && offsets.size() == lengths.size(), rows_where,
         "a length and an offset for each row",
         std::to_string(lengths.size()) + " and " + std::to_string(offsets.size()));
  const int least = *std::min_element(lengths.begin(), lengths.end());
  expect(least > 0, rows_where, "new tokens in each row", std::to_string(least));
  expect(x.ndim() == 3, rows_where, "x of shape (1, T, E)", text_of(x.shape()));
  expect_shape(x, {1, x.shape(1), w.hidden_size()}, rows_where);
  const std::int64_t num_tokens =
      std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
  expect(x.shape(1) == num_tokens, rows_where,
         "a vector for each of " + std::to_string(num_tokens) + " new tokens",
         std::to_string(x.shape(1)));
  expect(x.dtype() == mx::float32, rows_where, "float32", text_of(x.dtype()));
}

/// Fail unless keys and values are arrays of one shape, with the heads of the layer.
void expect_buffers(const LayerArrays& w, const KeysAndValues& cache, std::size_t count) {
  const auto text = [](std::size_t number) { return std::to_string(number); };
  expect(cache.keys.size() == count && cache.values.size() == count, rows_where,
         text(count) + " arrays of keys and of values",
         text(cache.keys.size()) + " and " + text(cache.values.size()));
  for (std::size_t i = 0; i < count; ++i) {
    const mx::array &keys = cache.keys[i], &values = cache.values[i];
    expect(keys.ndim() == 4, rows_where, "keys with four axes", text_of(keys.shape()));
    const int num_pages = cache.table ? keys.shape(0) : 1;
    expect_shape(
        keys, {num_pages, w.num_kv_heads(), keys.shape(2), w.head_dim()}, rows_where);
    expect_shape(values, keys.shape(), rows_where);
    expect(keys.shape(2) > 0, rows_where, "room for tokens", text_of(keys.shape()));
    for (const mx::array& one : {keys, values}) {
      expect(one.dtype() == mx::float32, rows_where, "float32", text_of(one.dtype()));
    }
  }
}

/// Return the numbers of a table, row after row.
std::vector<std::int32_t> numbers_of(const mx::array& table, std::size_t num_rows) {
  const bool has_rows =
      table.ndim() == 2 && static_cast<std::size_t>(table.shape(0)) == num_rows;
  expect(has_rows, rows_where, "a table with " + std::to_string(num_rows) + " rows",
         text_of(table.shape()));
  expect(table.dtype() == mx::int32, rows_where, "a table of int32",
         text_of(table.dtype()));
  return integers_of(table);
}

/// Fail unless there is a place for the new tokens of each row.
void expect_places(const Texts& texts, const KeysAndValues& cache) {
  for (std::size_t i = 0; i < texts.tokens.lengths.size(); ++i) {
    const int length = texts.tokens.lengths[i], offset = texts.tokens.offsets[i];
    expect_positions(offset, length, rows_where);
    const mx::array& buffer = cache.keys[texts.in_pages ? 0 : i];
    const int last = offset + length - 1;
    const auto num_pages = static_cast<std::size_t>(last / buffer.shape(2) + 1);
    expect(num_pages <= texts.table_size, rows_where, "room for the new tokens",
           "place " + std::to_string(last) + " in " +
               std::to_string(texts.table_size) + " pages of " +
               std::to_string(buffer.shape(2)));
    for (std::size_t page = 0; page < num_pages; ++page) {
      const std::int32_t number = texts.table[i * texts.table_size + page];
      expect(number >= 0 && number < buffer.shape(0), rows_where,
             "pages from 0 to " + std::to_string(buffer.shape(0) - 1),
             std::to_string(number));
    }
  }
}

}  // namespace

LayerRows::LayerRows(LayerArrays arrays, bool in_pages) : in_pages_(in_pages) {
  arrays = checked(std::move(arrays), rows_where);
  // Once for all layers. If it throws, the next one asks again.
  if (in_pages) {
    [[maybe_unused]] static const bool is_written =
        (expect_rows_written(arrays, true), true);
  } else {
    [[maybe_unused]] static const bool is_written =
        (expect_rows_written(arrays, false), true);
  }
  arrays_ = std::make_shared<const LayerArrays>(std::move(arrays));
}

std::vector<mx::array> LayerRows::operator()(
    const mx::array& x, NewTokens tokens, const KeysAndValues& cache) const {
  const std::size_t num_rows = tokens.lengths.size();
  expect_stream(*arrays_, x, tokens);
  expect(cache.table.has_value() == in_pages_, rows_where,
         in_pages_ ? "a table of pages" : "no table of pages",
         cache.table ? "one" : "none");
  expect_buffers(*arrays_, cache, in_pages_ ? 1 : num_rows);
  Texts texts{std::move(tokens), in_pages_, {}, 1};
  if (in_pages_) {
    texts.table = numbers_of(*cache.table, num_rows);
    texts.table_size = texts.table.size() / num_rows;
  } else {
    texts.table.resize(num_rows);
  }
  expect_places(texts, cache);
  // The buffers as they are: a copy in order would be one that somebody else holds.
  std::vector<mx::array> inputs{x};
  inputs.insert(inputs.end(), cache.keys.begin(), cache.keys.end());
  inputs.insert(inputs.end(), cache.values.begin(), cache.values.end());
  std::vector<mx::Shape> shapes;
  for (const mx::array& one : inputs) shapes.push_back(one.shape());
  const mx::Stream stream = mx::default_stream(mx::Device::cpu);
  return mx::array::make_arrays(
      std::move(shapes), std::vector<mx::Dtype>(inputs.size(), mx::float32),
      std::make_shared<LayerRowsOperation>(stream, arrays_, std::move(texts)), inputs);
}

}  // namespace tiny_llm::ops

namespace tiny_llm {

void bind_layer_rows(nanobind::module_& module) {
  using mlx::core::array;
  using nanobind::arg;
  using Arrays = std::vector<array>;
  using Numbers = std::vector<int>;
  // A function and no class: two solutions may be loaded, and would share the class.
  module.def(
      "LayerRows",
      [](std::vector<Weight> matrices, Arrays vectors, int num_heads, float eps,
         double base, bool in_pages) {
        ops::LayerRows layer(
            {std::move(matrices), std::move(vectors), num_heads, eps, base}, in_pages);
        return nanobind::cpp_function(
            [layer = std::move(layer)](
                const array& x, Numbers lengths, Numbers offsets, Arrays keys,
                Arrays values, std::optional<array> table) {
              return layer(
                  x, {std::move(lengths), std::move(offsets)},
                  {std::move(keys), std::move(values), std::move(table)});
            },
            arg("x"), arg("lengths"), arg("offsets"), arg("keys"), arg("values"),
            arg("table").none());
      });
}

}  // namespace tiny_llm
