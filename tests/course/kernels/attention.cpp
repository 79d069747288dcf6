/// Checks the ladder of attention against plain loops in double, over odd sizes.
///
/// Compiled with sanitizers: every array is as long as it has to be and no longer, so a
/// number that is read or written beside it ends the program.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <vector>

#include "drawn.h"
#include "kernels/attention.h"

using namespace tiny_llm;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

int num_checks = 0;

void expect_near(double got, double expected, const char* where) {
  ++num_checks;
  if (std::isnan(got) && std::isnan(expected)) return;
  if (std::abs(got - expected) <= 2e-5 * (1 + std::abs(expected))) return;
  std::printf("%s: expected %.9g, got %.9g\n", where, expected, got);
  end_as_wrong();
}

/// A row of the result, as the formula says.
std::vector<double> attended(const Attention& a, int b, int h, int i) {
  const float* const q = a.query.at(b, h, i);
  std::vector<double> scores;
  for (int j = 0; j < a.keys_seen_by(i); ++j) {
    const float* const k = a.key.at(b, h / a.group(), j);
    double score = 0;
    for (int d = 0; d < a.width; ++d) score += static_cast<double>(q[d]) * k[d];
    score *= static_cast<double>(a.scale);
    if (a.mask.data != nullptr) score += *a.mask.at(b, h, i, j);
    scores.push_back(score);
  }
  const double top = *std::max_element(scores.begin(), scores.end());
  double total = 0;
  for (double& score : scores) total += score = std::exp(score - top);
  std::vector<double> row(static_cast<std::size_t>(a.width));
  for (std::size_t j = 0; j < scores.size(); ++j) {
    const float* v = a.value.at(b, h / a.group(), static_cast<int>(j));
    for (std::size_t d = 0; d < row.size(); ++d) row[d] += scores[j] / total * v[d];
  }
  return row;
}

/// All rows of the result.
std::vector<double> attended(const Attention& a) {
  std::vector<double> all;
  for (int b = 0; b < a.num_batches; ++b) {
    for (int h = 0; h < a.num_heads; ++h) {
      for (int i = 0; i < a.num_queries; ++i) {
        const std::vector<double> row = attended(a, b, h, i);
        all.insert(all.end(), row.begin(), row.end());
      }
    }
  }
  return all;
}

void check(const std::vector<double>& truth, const Numbers& y, const char* where) {
  for (std::size_t i = 0; i < truth.size(); ++i) expect_near(y[i], truth[i], where);
}

struct Sizes {
  int B, H_q, H, L, S, D;
};

/// Heads as they may lie in memory: in either order, with room for more behind them.
struct Laid {
  Numbers numbers;
  Heads heads;

  Laid(int B, int H, int L, int D) {
    const bool is_token_first = coin();
    const std::ptrdiff_t width = D + whole(0, 3);
    const std::ptrdiff_t room = is_token_first ? H : L + whole(0, 3);
    const std::ptrdiff_t head = is_token_first ? width : room * width;
    const std::ptrdiff_t position = is_token_first ? room * width : width;
    const std::ptrdiff_t batch = is_token_first ? L * position : H * head;
    const std::ptrdiff_t last = (B - 1) * batch + (H - 1) * head + (L - 1) * position;
    numbers = drawn_numbers(static_cast<std::size_t>(last + D));
    heads = {numbers.data(), batch, head, position};
  }
};

/// A mask for all scores, or one that some of the axes share.
struct DrawnMask {
  Numbers numbers;
  Mask mask;

  explicit DrawnMask(const Sizes& n) {
    std::ptrdiff_t stride = 1;
    const auto next = [&](int length) {
      const bool is_shared = whole(0, 3) == 0;
      const std::ptrdiff_t own = is_shared ? 0 : stride;
      if (!is_shared) stride *= length;
      return own;
    };
    mask.key = next(n.S);
    mask.query = next(n.L);
    mask.head = next(n.H_q);
    mask.batch = next(n.B);
    numbers = drawn_numbers(static_cast<std::size_t>(stride));
    mask.data = numbers.data();
    const int share = one_of({0, 2, 10, 11});
    for (float& one : numbers) {
      if (whole(0, 10) < share) one = -kInfinity;
    }
    // At times nothing of the first tile may be looked at.
    for (int j = 0; j < 70 && j + 1 < n.S && coin(); ++j) {
      numbers[at_key(j)] = -kInfinity;
    }
  }

 private:
  std::size_t at_key(int j) const { return static_cast<std::size_t>(j * mask.key); }
};

/// Each rung, on heads that lie anywhere, with a mask or without, causal or not.
void check_all(Sizes n) {
  const Laid q(n.B, n.H_q, n.L, n.D), k(n.B, n.H, n.S, n.D), v(n.B, n.H, n.S, n.D);
  const DrawnMask drawn(n);
  for (int kind = 0; kind < 4; ++kind) {
    const Mask added = kind >= 2 ? drawn.mask : Mask{};
    const bool is_causal = kind % 2 == 1 && n.L <= n.S;
    const std::size_t size = size_of(n.B * n.H_q, n.L * n.D);
    Numbers y(size, 7.0f);
    const Attention a{q.heads, k.heads, v.heads, added, is_causal, 0.3f, y.data(),
                      n.B,     n.H_q,   n.H,     n.L,   n.S,       n.D};
    const std::vector<double> truth = attended(a);
    if (is_written([&] { attention_online(a); })) check(truth, y, "online");
    std::fill(y.begin(), y.end(), 7.0f);
    if (is_written([&] { attention_tiled(a); })) check(truth, y, "tiled");
    std::fill(y.begin(), y.end(), 7.0f);
    if (is_written([&] { attention_split(a); })) check(truth, y, "split");
  }
}

void check_exponential() {
  for (float x = -86.9f; x < 88.7f; x += 0.113f) {
    const double exact = std::exp(static_cast<double>(x));
    expect_near(exponential(x) / exact, 1.0, "exponential");
  }
  expect_near(exponential(-kInfinity), 0, "exponential of minus infinity");
  expect_near(exponential(kInfinity) == kInfinity, 1, "exponential of infinity");
  expect_near(std::isnan(exponential(std::nanf(""))), 1, "exponential of NaN");
}

void check_fixed() {
  check_exponential();
  check_all({1, 1, 1, 1, 1, 1});
  check_all({2, 6, 2, 3, 7, 5});
  check_all({1, 14, 2, 1, 300, 64});
  check_all({1, 3, 3, 5, 65, 17});
  check_all({1, 7, 1, 34, 90, 20});
  check_all({1, 2, 1, 65, 65, 31});
  check_all({2, 4, 2, 2, 600, 10});
}

/// Sizes whose product is not too large: the truth takes its time.
Sizes drawn_sizes() {
  const int L = coin() ? whole(1, 3) : drawn_size(80);
  const int S = drawn_size(L > 3 ? 150 : 900);
  const int H = whole(1, 3), group = L * S > 3000 ? whole(1, 2) : whole(1, 8);
  return {whole(1, 2), H * group, H, L, S, drawn_size(L * S > 3000 ? 20 : 70)};
}

}  // namespace

int main(int argc, char** argv) {
  const Rounds rounds(argc, argv, 40);
  if (!rounds.is_long) check_fixed();
  fuzz(rounds, [] { check_all(drawn_sizes()); });
  std::printf("%d numbers are right\n", num_checks);
  return 0;
}
