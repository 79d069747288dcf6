#include "glue/weight.h"

#include <cstdint>
#include <string>

#include "glue/checks.h"

namespace tiny_llm {

namespace mx = mlx::core;

void expect_weight(const Weight& w, std::string_view where) {
  const auto number = [](int value) { return std::to_string(value); };
  expect(
      w.bits == 2 || w.bits == 4 || w.bits == 8, where, "2, 4 or 8 bits", number(w.bits));
  expect(
      w.group_size == 32 || w.group_size == 64 || w.group_size == 128,
      where, "groups of 32, 64 or 128", number(w.group_size));
  expect(w.words.dtype() == mx::uint32, where, "words of uint32", text_of(w.words.dtype()));
  expect(w.words.ndim() == 2, where, "words with two axes", text_of(w.words.shape()));
  expect_floats(w.scales, where);
  const std::int64_t num_weights = std::int64_t{w.words.shape(1)} * 32 / w.bits;
  // The kernels count the weights of a panel, 16 rows, in an int.
  expect(
      num_weights < 1 << 27, where, "rows of fewer than 2^27 weights",
      std::to_string(num_weights));
  const int num_columns = static_cast<int>(num_weights);
  expect(
      num_columns % w.group_size == 0, where,
      "rows of a multiple of " + number(w.group_size) + " weights", number(num_columns));
  expect_shape(w.scales, {w.words.shape(0), num_columns / w.group_size}, where);
  expect_shape(w.biases, w.scales.shape(), where);
  expect(
      w.scales.dtype() == w.biases.dtype(), where, "scales and biases of one dtype",
      "two");
}

std::vector<Input> inputs_of(const Weight& w) {
  return {{"w.words", w.words}, {"w.scales", w.scales}, {"w.biases", w.biases}};
}

std::vector<Input> with_matrix(const Input& first, const Weight& w) {
  std::vector<Input> inputs = inputs_of(w);
  inputs.insert(inputs.begin(), first);
  return inputs;
}

}  // namespace tiny_llm
