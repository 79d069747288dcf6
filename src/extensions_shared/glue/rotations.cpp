#include "glue/rotations.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "glue/checks.h"
#include "glue/watched.h"
#include "kernels/fused.h"

namespace tiny_llm {

namespace {

/// Fill a table. If kernels are watched, in parts, and between zones.
void fill(double base, int D, Rows positions, Rotations& table) {
  if (!are_watched()) {
    fill_rotations(base, D, positions, table.cosines.data(), table.sines.data());
    return;
  }
  const std::string where = "fill_rotations";
  const Zoned cosines("cosines", {positions.last, D / 2}, mlx::core::float32);
  const Zoned sines("sines", {positions.last, D / 2}, mlx::core::float32);
  std::vector<mlx::core::array> out{cosines.array(), sines.array()};
  do_rows(where, positions.last, out, [&](Rows rows) {
    fill_rotations(base, D, rows, out[0].data<float>(), out[1].data<float>());
  });
  for (const Zoned* one : {&cosines, &sines}) one->expect_zones(where);
  std::copy_n(out[0].data<float>(), table.cosines.size(), table.cosines.begin());
  std::copy_n(out[1].data<float>(), table.sines.size(), table.sines.begin());
}

}  // namespace

std::shared_ptr<const Rotations> rotations_for(int D, double base, int num_positions) {
  static std::mutex mutex;
  static std::map<std::pair<int, double>, std::shared_ptr<const Rotations>> tables;
  const std::lock_guard lock(mutex);
  std::shared_ptr<const Rotations>& known = tables[{D, base}];
  const std::size_t half = static_cast<std::size_t>(D / 2);
  const std::size_t num_needed = static_cast<std::size_t>(num_positions) * half;
  if (known && known->cosines.size() >= num_needed) return known;
  // Twice as long each time, so that a growing text seldom asks for more.
  const unsigned length = std::bit_ceil(static_cast<unsigned>(num_positions) | 1023u);
  auto longer = std::make_shared<Rotations>();
  longer->cosines.resize(length * half);
  longer->sines.resize(length * half);
  const Rows positions{0, static_cast<int>(length)};
  fill(base, D, positions, *longer);
  known = std::move(longer);
  return known;
}

void expect_positions(int offset, int num_tokens, std::string_view where) {
  // More than any model has been trained for, and a table that still fits in memory.
  constexpr int max_positions = 1 << 20;
  const bool is_there = offset >= 0 && offset <= max_positions - num_tokens;
  expect(
      is_there, where, "positions from 0 up to " + std::to_string(max_positions - 1),
      std::to_string(num_tokens) + " from " + std::to_string(offset) + " on");
}

}  // namespace tiny_llm
