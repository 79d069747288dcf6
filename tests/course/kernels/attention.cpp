/// Checks the ladder of attention against plain loops in double, over odd sizes.
///
/// Compiled with sanitizers: every array is as long as it has to be and no longer, so a
/// number that is read or written beside it ends the program.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <random>
#include <vector>

#include "kernels/attention.h"

using namespace tiny_llm;

namespace {

using Numbers = std::vector<float>;

int num_checks = 0;

Numbers draw(int count, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  Numbers drawn(static_cast<std::size_t>(count));
  for (float& one : drawn) one = normal(generator);
  return drawn;
}

void expect_near(double got, double expected, const char* where) {
  ++num_checks;
  if (std::abs(got - expected) <= 2e-5 * (1 + std::abs(expected))) return;
  std::printf("%s: expected %.9g, got %.9g\n", where, expected, got);
  std::exit(1);
}

/// A row of the result, as the formula says.
std::vector<double> attended(const Attention& a, int b, int h, int i) {
  std::vector<double> scores;
  for (int j = 0; j < a.keys_seen_by(i); ++j) {
    double score = 0;
    for (int d = 0; d < a.width; ++d) {
      const double q = a.query.at(b, h, i)[d];
      score += q * a.key.at(b, h / a.group(), j)[d];
    }
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

void check(const Attention& a, const Numbers& y, const char* where) {
  std::size_t place = 0;
  for (int b = 0; b < a.num_batches; ++b) {
    for (int h = 0; h < a.num_heads; ++h) {
      for (int i = 0; i < a.num_queries; ++i) {
        for (const double right : attended(a, b, h, i)) {
          expect_near(y[place++], right, where);
        }
      }
    }
  }
}

struct Sizes {
  int B, H_q, H, L, S, D;
};

/// Each rung, without a mask, causal, and with one whose first tile is forbidden.
void check_all(Sizes n) {
  const int spare = 3;
  const Numbers q = draw(n.B * n.H_q * n.L * n.D, 1);
  // The last head needs no room for more.
  const int room = n.S + spare, num_heads = n.B * n.H;
  const Numbers k = draw((num_heads * room - spare) * n.D, 2);
  const Numbers v = draw((num_heads * room - spare) * n.D, 3);
  Numbers mask = draw(n.L * n.S, 4);
  for (int i = 0; i < n.L; ++i) {
    for (int j = 0; j + 1 < n.S && j < 70; ++j) {
      mask[static_cast<std::size_t>(i * n.S + j)] =
          -std::numeric_limits<float>::infinity();
    }
  }
  const Heads query{q.data(), n.H_q * n.L * n.D, n.L * n.D, n.D};
  const auto cached = [&](const Numbers& x) {
    return Heads{x.data(), n.H * room * n.D, room * n.D, n.D};
  };
  for (int kind = 0; kind < 3; ++kind) {
    const Mask added = kind == 2 ? Mask{mask.data(), 0, 0, n.S, 1} : Mask{};
    Numbers y(q.size());
    const Attention a{query, cached(k), cached(v), added, kind == 1, 0.3f, y.data(),
                      n.B,   n.H_q,     n.H,       n.L,   n.S,       n.D};
    attention_online(a);
    check(a, y, "online");
    std::fill(y.begin(), y.end(), 7.0f);
    attention_tiled(a);
    check(a, y, "tiled");
    std::fill(y.begin(), y.end(), 7.0f);
    attention_split(a);
    check(a, y, "split");
  }
}

void check_exponential() {
  for (float x = -86.9f; x < 88.7f; x += 0.113f) {
    const double exact = std::exp(static_cast<double>(x));
    expect_near(exponential(x) / exact, 1.0, "exponential");
  }
  constexpr float infinity = std::numeric_limits<float>::infinity();
  expect_near(exponential(-infinity), 0, "exponential of minus infinity");
  expect_near(exponential(infinity) == infinity, 1, "exponential of infinity");
  expect_near(std::isnan(exponential(std::nanf(""))), 1, "exponential of NaN");
}

}  // namespace

int main() {
  check_exponential();
  check_all({1, 1, 1, 1, 1, 1});
  check_all({2, 6, 2, 3, 7, 5});
  check_all({1, 14, 2, 1, 300, 64});
  check_all({1, 3, 3, 5, 65, 17});
  check_all({1, 7, 1, 34, 90, 20});
  check_all({1, 2, 1, 65, 65, 31});
  check_all({2, 4, 2, 2, 600, 10});
  std::printf("%d numbers are right\n", num_checks);
}
