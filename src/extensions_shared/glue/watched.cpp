#include "glue/watched.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <stdexcept>
#include <string_view>

#include <mlx/allocator.h>

namespace tiny_llm {

namespace mx = mlx::core;

namespace {

/// Longer than any row of the tests: what misses an end misses it by a row at most.
constexpr std::size_t zone_bytes = 1 << 15;

/// What an array holds until it is filled: NaN in float16 and bfloat16, and twice in a
/// row also in float32.
constexpr std::uint16_t quiet = 0x7fc0;

enum class Role { input, output };

/// What a zone holds: a signalling NaN. Arithmetic makes a quiet one of it, so no number
/// that is computed, from whatever is read, is the same again. Nor is one that is copied
/// from beside an input: an output has other bits there.
std::uint16_t signalling(mx::Dtype dtype, Role role) {
  if (dtype == mx::float16) return role == Role::input ? 0x7d15 : 0x7d2a;
  return role == Role::input ? 0x7f95 : 0x7faa;
}

/// Write a pattern over and over.
void fill(std::byte* from, std::size_t num_bytes, std::uint16_t pattern) {
  for (std::size_t i = 0; i < num_bytes; i += sizeof(pattern)) {
    std::memcpy(from + i, &pattern, std::min(sizeof(pattern), num_bytes - i));
  }
}

/// The strides of an array that lies in order.
mx::Strides strides_in_order(const mx::Shape& shape) {
  mx::Strides strides(shape.size());
  std::int64_t stride = 1;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    strides[axis] = stride;
    stride *= shape[axis];
  }
  return strides;
}

/// How many entries there are between the first one and the last one, both included.
std::size_t extent_of(const mx::Shape& shape, const mx::Strides& strides) {
  std::int64_t last = 0;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] == 0) return 0;
    last += (shape[axis] - 1) * strides[axis];
  }
  return static_cast<std::size_t>(last + 1);
}

/// Copy the entries from `axis` on, to the places that they have in memory.
void copy_in_place(const mx::array& x, const std::byte* from, std::byte* to, int axis) {
  const auto item = static_cast<std::int64_t>(x.itemsize());
  const int last_axis = static_cast<int>(x.ndim()) - 1;
  if (axis > last_axis || (axis == last_axis && x.strides(axis) == 1)) {
    const std::int64_t length = axis > last_axis ? 1 : x.shape(axis);
    std::memcpy(to, from, static_cast<std::size_t>(length * item));
    return;
  }
  for (int i = 0; i < x.shape(axis); ++i) {
    const std::int64_t place = i * x.strides(axis) * item;
    copy_in_place(x, from + place, to + place, axis + 1);
  }
}

std::runtime_error error_of(
    const std::string& where, const std::string& expected, const std::string& got) {
  return std::runtime_error(where + ": expected " + expected + ", got " + got);
}

std::string count_of(std::size_t count) {
  return std::to_string(count) + (count == 1 ? " number" : " numbers");
}

}  // namespace

bool are_watched() {
  const char* const chosen = std::getenv("TINY_LLM_WATCH");
  return chosen != nullptr && std::string_view(chosen) == "1";
}

Zoned::Zoned(
    std::string name, mx::array array, mx::Strides strides, std::uint16_t beside)
    : name_(std::move(name)),
      array_(std::move(array)),
      num_bytes_(extent_of(array_.shape(), strides) * array_.itemsize()) {
  const std::size_t size = num_bytes_ + 2 * zone_bytes;
  const mx::array::Flags flags{.contiguous = false, .row_contiguous = false,
                               .col_contiguous = false};
  array_.set_data(
      mx::allocator::malloc(size), num_bytes_ / array_.itemsize(), std::move(strides),
      flags, zone_bytes);
  array_.set_status(mx::array::Status::available);
  memory_ = array_.data<std::byte>() - zone_bytes;
  fill(memory_, size, beside);
  fill(memory_ + zone_bytes, num_bytes_, quiet);
  handed_over_.assign(memory_, memory_ + size);
}

Zoned::Zoned(std::string name, const mx::Shape& shape, mx::Dtype dtype)
    : Zoned(
          std::move(name), mx::array(shape, dtype, nullptr, {}),
          strides_in_order(shape), signalling(dtype, Role::output)) {}

Zoned::Zoned(std::string name, const mx::array& x)
    : Zoned(
          std::move(name), mx::array(x.shape(), x.dtype(), nullptr, {}), x.strides(),
          signalling(x.dtype(), Role::input)) {
  if (x.size() == 0) return;
  copy_in_place(x, x.data<std::byte>(), memory_ + zone_bytes, 0);
  std::copy_n(memory_ + zone_bytes, num_bytes_, handed_over_.begin() + zone_bytes);
}

void Zoned::expect_zones(const std::string& where) const {
  const std::size_t end = zone_bytes + num_bytes_, size = handed_over_.size();
  const auto is_same = [&](std::size_t begin, std::size_t count) {
    return std::memcmp(memory_ + begin, handed_over_.data() + begin, count) == 0;
  };
  if (is_same(0, zone_bytes) && is_same(end, size - end)) return;
  const std::size_t item = array_.itemsize();
  const std::string expected = "nothing to be written beside the " +
                               count_of(array_.size()) + " of " + name_;
  for (std::size_t i = size; i-- > end;) {
    if (memory_[i] == handed_over_[i]) continue;
    const std::string far = count_of((i - end) / item + 1);
    throw error_of(where, expected, "a write up to " + far + " past the end");
  }
  for (std::size_t i = 0; i < zone_bytes; ++i) {
    if (memory_[i] == handed_over_[i]) continue;
    const std::string far = count_of((zone_bytes - i - 1) / item + 1);
    throw error_of(where, expected, "a write from " + far + " before the beginning on");
  }
}

void Zoned::expect_unchanged(const std::string& where) const {
  expect_zones(where);
  if (std::memcmp(memory_, handed_over_.data(), handed_over_.size()) == 0) return;
  for (std::size_t i = 0; i < num_bytes_; ++i) {
    if (memory_[zone_bytes + i] == handed_over_[zone_bytes + i]) continue;
    const std::string place = std::to_string(i / array_.itemsize());
    throw error_of(where, name_ + " to be read only", "a write to its number " + place);
  }
}

RowsBefore::RowsBefore(const std::vector<mx::array>& outputs, int num_rows)
    : outputs_(outputs), num_rows_(num_rows) {
  for (const mx::array& one : outputs) {
    const auto* const begin = one.data<std::byte>();
    bytes_.emplace_back(begin, begin + one.nbytes());
  }
}

void RowsBefore::expect_others_unchanged(const std::string& where, Rows rows) const {
  for (std::size_t index = 0; index < bytes_.size(); ++index) {
    const auto* const now = outputs_[index].data<std::byte>();
    const std::vector<std::byte>& before = bytes_[index];
    const std::size_t row_bytes = before.size() / static_cast<std::size_t>(num_rows_);
    for (std::size_t i = 0; i < before.size(); ++i) {
      const int row = static_cast<int>(i / row_bytes);
      const bool is_ours = rows.first <= row && row < rows.last;
      if (is_ours || now[i] == before[i]) continue;
      throw error_of(
          where,
          "rows " + std::to_string(rows.first) + " to " + std::to_string(rows.last - 1) +
              " to be written, as it was told",
          "a write to row " + std::to_string(row));
    }
  }
}

}  // namespace tiny_llm
