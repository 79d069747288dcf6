#include "glue/checks.h"

#include <limits>
#include <sstream>
#include <stdexcept>

#include <mlx/utils.h>

namespace tiny_llm {

namespace mx = mlx::core;

std::string text_of(const mx::Shape& shape) {
  std::string text = "(";
  for (const mx::ShapeElem length : shape) {
    text += std::to_string(length) + ", ";
  }
  if (shape.size() > 1) text.resize(text.size() - 2);
  if (shape.size() == 1) text.pop_back();
  return text + ")";
}

std::string text_of(mx::Dtype dtype) {
  std::ostringstream text;
  text << dtype;
  return text.str();
}

void expect(
    bool holds, std::string_view where, std::string_view what, const std::string& got) {
  if (holds) return;
  throw std::invalid_argument(
      std::string(where) + ": expected " + std::string(what) + ", got " + got);
}

void expect_floats(const mx::array& x, std::string_view where) {
  expect(
      x.dtype() == mx::float32 || x.dtype() == mx::float16 || x.dtype() == mx::bfloat16,
      where,
      "float32, float16 or bfloat16",
      text_of(x.dtype()));
}

void expect_countable(const mx::array& x, std::string_view where) {
  const bool is_countable = x.size() <= std::numeric_limits<int>::max();
  expect(is_countable, where, "fewer than 2^31 numbers", std::to_string(x.size()));
}

void expect_shape(const mx::array& x, const mx::Shape& shape, std::string_view where) {
  expect(x.shape() == shape, where, "shape " + text_of(shape), text_of(x.shape()));
}

}  // namespace tiny_llm
