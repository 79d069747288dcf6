/// Week 2, Day 4: a matrix of the MLP of Qwen2-0.5B times a vector, bytes of weights.
#include <vector>

#include "kernels/int8.h"
#include "kernels/matvec.h"
#include "kernels/matvec_int8.h"
#include "matrix.h"

namespace {

constexpr int num_rows = 4864, num_columns = 896;
constexpr tiny_llm::Rows all{0, num_rows};
speed::Matrices matrices(num_rows, num_columns, 24);
const std::vector<float> x = speed::numbers(num_columns);
std::vector<float> y(num_rows);
tiny_llm::Int8Buffer buffer;
tiny_llm::Int8Activations rounded;

void round_x() { rounded = buffer.round(x.data(), num_columns, 64, 4); }

}  // namespace

KERNEL(matvec_naive, tiny_llm::matvec_naive(x.data(), matrices.next(), y.data(), all))
KERNEL(
    matvec_blocked, tiny_llm::matvec_blocked(x.data(), matrices.next(), y.data(), all))
KERNEL(matvec_simd, tiny_llm::matvec_simd(x.data(), matrices.next(), y.data(), all))
KERNEL(matvec_int8, tiny_llm::matvec_int8(rounded, matrices.next(), y.data(), all))
KERNEL(
    matvec_threaded, tiny_llm::matvec_threaded(rounded, matrices.next(), y.data()))

int main() {
  const double work = matrices.bytes();
  return speed::serve({
      {"matvec_naive", run_matvec_naive, work},
      {"matvec_blocked", run_matvec_blocked, work},
      {"matvec_simd", run_matvec_simd, work},
      {"matvec_int8", run_matvec_int8, work, work, round_x},
      {"matvec_threaded", run_matvec_threaded, work, work, round_x},
  });
}
