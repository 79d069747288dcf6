/// Week 2, Day 7: the rows of one token of Qwen2-0.5B, in bytes that are read or written.
/// The plain loops are what the formulas of fused.h say.
#include <cmath>
#include <vector>

#include "kernels/fused.h"
#include "serve.h"

namespace {

constexpr int hidden = 896, intermediate = 4864, num_heads = 14, width = 64;
const std::vector<float> x = speed::numbers(intermediate), other = x;
std::vector<float> y(intermediate), sum(hidden), cosines(width / 2), sines = cosines;
const tiny_llm::Norm norm{other.data(), 1e-6f, hidden};
const tiny_llm::RotatedHeads heads{1, num_heads, width, 0};
constexpr tiny_llm::Rows one{0, 1}, gates{0, intermediate};

void norm_plain() {
  double total = 0;
  for (int d = 0; d < hidden; ++d) {
    sum[d] = x[d] + other[d];
    total += sum[d] * sum[d];
  }
  for (int d = 0; d < hidden; ++d) {
    y[d] = static_cast<float>(sum[d] / std::sqrt(total / hidden + 1e-6) * other[d]);
  }
}

void rope_plain() {
  for (int h = 0; h < num_heads; ++h) {
    for (int i = 0; i < width / 2; ++i) {
      const double angle = 100 * std::pow(1e6, -2.0 * i / width);
      const int a = h * width + i, b = a + width / 2;
      y[a] = static_cast<float>(x[a] * std::cos(angle) - x[b] * std::sin(angle));
      y[b] = static_cast<float>(x[b] * std::cos(angle) + x[a] * std::sin(angle));
    }
  }
}

void swiglu_plain() {
  for (int i = 0; i < intermediate; ++i) y[i] = x[i] / (1 + std::exp(-x[i])) * other[i];
}

}  // namespace

KERNEL(norm_plain, norm_plain())
KERNEL(
    add_rms_norm,
    tiny_llm::add_rms_norm(x.data(), other.data(), norm, sum.data(), y.data(), one))
KERNEL(rope_plain, rope_plain())
KERNEL(
    rope, tiny_llm::rope(x.data(), cosines.data(), sines.data(), heads, y.data(), one))
KERNEL(swiglu_plain, swiglu_plain())
KERNEL(swiglu, tiny_llm::swiglu(x.data(), other.data(), y.data(), gates))

int main() {
  const double summed = 4.0 * 5 * hidden;
  const double rotated = 4.0 * (2 * hidden + width);
  const double opened = 4.0 * 3 * intermediate;
  return speed::serve({
      {"norm_plain", run_norm_plain, summed},
      {"add_rms_norm", run_add_rms_norm, summed},
      {"rope_plain", run_rope_plain, rotated},
      {"rope", run_rope, rotated},
      {"swiglu_plain", run_swiglu_plain, opened},
      {"swiglu", run_swiglu, opened},
  });
}
