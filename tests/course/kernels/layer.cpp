/// Checks a whole layer against plain loops in double, at sizes drawn from a seed.
///
/// The layer rounds activations to 8 bits, the loops do not. So results may be some per
/// cent off, which a head or a token at a wrong place exceeds by far.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include "drawn_layer.h"
#include "kernels/layer.h"

using namespace tiny_llm;

namespace {

using Doubles = std::vector<double>;

int num_checks = 0;
double worst = 0;

template <class Scale>
Doubles product(
    const Doubles& x, const Matrix<Scale>& w, const Numbers* bias = nullptr) {
  const int O = w.view.num_rows, I = w.view.num_columns;
  Doubles y;
  for (std::size_t token = 0; token < x.size(); token += at(I)) {
    for (int o = 0; o < O; ++o) {
      double sum = bias != nullptr ? (*bias)[at(o)] : 0;
      for (int i = 0; i < I; ++i) sum += w.weight(o, i) * x[token + at(i)];
      y.push_back(sum);
    }
  }
  return y;
}

Doubles normed(const Doubles& x, const Numbers& gains) {
  Doubles y = x;
  for (std::size_t first = 0; first < x.size(); first += gains.size()) {
    double squares = 0;
    for (std::size_t i = 0; i < gains.size(); ++i) squares += std::pow(x[first + i], 2);
    const double root = std::sqrt(squares / static_cast<double>(gains.size()) + 1e-6);
    for (std::size_t i = 0; i < gains.size(); ++i) y[first + i] *= gains[i] / root;
  }
  return y;
}

/// Rotate heads, L x H x D.
void rotate(Doubles& x, int H, const Sizes& n) {
  for (int row = 0; row < n.L * H; ++row) {
    const int position = n.offset + row / H;
    for (int i = 0; i < n.D / 2; ++i) {
      const double angle = position * std::pow(1e4, -2.0 * i / n.D);
      double& a = x[size_of(row, n.D) + at(i)];
      double& b = x[size_of(row, n.D) + at(i + n.D / 2)];
      const double old_a = a;
      a = a * std::cos(angle) - b * std::sin(angle);
      b = b * std::cos(angle) + old_a * std::sin(angle);
    }
  }
}

/// Put heads, L x H_kv x D, behind those of the cache.
void remember(const Doubles& x, Doubles& cache, const Sizes& n) {
  for (int row = 0; row < n.L * n.H_kv; ++row) {
    const int to = row % n.H_kv * n.capacity + n.offset + row / n.H_kv;
    for (int d = 0; d < n.D; ++d) {
      cache[size_of(to, n.D) + at(d)] = x[size_of(row, n.D) + at(d)];
    }
  }
}

Doubles attended(
    const Doubles& query, const Doubles& keys, const Doubles& values, const Sizes& n) {
  Doubles y(query.size());
  for (int row = 0; row < n.L * n.H; ++row) {
    const int token = row / n.H, kv_head = row % n.H / (n.H / n.H_kv);
    Doubles sums(at(n.D));
    double total = 0;
    for (int j = 0; j <= n.offset + token; ++j) {
      const std::size_t from = size_of(kv_head * n.capacity + j, n.D);
      double score = 0;
      for (std::size_t d = 0; d < sums.size(); ++d) {
        score += query[size_of(row, n.D) + d] * keys[from + d];
      }
      const double weight = std::exp(score / std::sqrt(n.D));
      total += weight;
      for (std::size_t d = 0; d < sums.size(); ++d) {
        sums[d] += weight * values[from + d];
      }
    }
    double* const to = y.data() + size_of(row, n.D);
    for (std::size_t d = 0; d < sums.size(); ++d) to[d] = sums[d] / total;
  }
  return y;
}

void expect_near(const Numbers& got, const Doubles& truth, const char* what) {
  double squares = 0, off = 0;
  for (std::size_t i = 0; i < truth.size(); ++i) {
    squares += truth[i] * truth[i];
    off = std::max(off, std::abs(got[i] - truth[i]));
  }
  const double scale = std::sqrt(squares / static_cast<double>(truth.size()));
  num_checks += static_cast<int>(truth.size());
  worst = std::max(worst, off / scale);
  if (off <= 0.06 * scale) return;
  std::printf("%s: off by %.3g, where numbers are about %.3g\n", what, off, scale);
  end_as_wrong();
}

template <class Scale>
void check(const Sizes& n) {
  const Case<Scale> c(n);
  const auto wide = [](const Numbers& x) { return Doubles(x.begin(), x.end()); };
  const Doubles x = normed(wide(c.x), c.gains);
  Doubles query = product(x, c.query, &c.query_bias);
  Doubles key = product(x, c.key, &c.key_bias);
  rotate(query, n.H, n);
  rotate(key, n.H_kv, n);
  Doubles keys = wide(c.keys), values = wide(c.values);
  remember(key, keys, n);
  remember(product(x, c.value, &c.value_bias), values, n);
  Doubles y = product(attended(query, keys, values, n), c.output);
  for (std::size_t i = 0; i < y.size(); ++i) y[i] += c.x[i];
  const Doubles middle = normed(y, c.post_gains);
  Doubles gate = product(middle, c.gate);
  const Doubles up = product(middle, c.up);
  for (std::size_t i = 0; i < up.size(); ++i) {
    gate[i] *= up[i] / (1 + std::exp(-gate[i]));
  }
  const Doubles more = product(gate, c.down);
  for (std::size_t i = 0; i < y.size(); ++i) y[i] += more[i];

  Numbers got(y.size()), got_keys = c.keys, got_values = c.values;
  const LayerCache cache{got_keys.data(), got_values.data(), n.capacity, n.offset};
  const LayerWeights<Scale> weights = c.weights();
  const LayerParts<Scale> parts{weights, cache, n.L};
  if (!is_written([&] { run_layer(parts, c.x.data(), got.data()); })) return;
  expect_near(got_keys, keys, "keys");
  expect_near(got_values, values, "values");
  expect_near(got, y, "y");
}

/// Few tokens take one way through the layer, and many another.
Sizes drawn_sizes() {
  const int L = coin() ? 1 : drawn_size(40);
  const int H_kv = whole(1, 2), H = H_kv * whole(1, 3);
  const int D = 32 * whole(1, 2), offset = whole(0, 90);
  const int capacity = offset + L + whole(0, 5);
  return {L, H, H_kv, D, 32 * whole(1, 4), 32 * whole(1, 5), offset, capacity};
}

}  // namespace

int main(int argc, char** argv) {
  const Rounds rounds(argc, argv, 20);
  fuzz(rounds, [] {
    with_any_scale([]<class Scale>(Scale) { check<Scale>(drawn_sizes()); });
  });
  std::printf("%d numbers, off by %.2g at most, are right\n", num_checks, worst);
  return 0;
}
