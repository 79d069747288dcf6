/// A layer of the model, drawn from a seed, and what its cache holds before it works.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "drawn.h"
#include "kernels/layer_parts.h"

namespace tiny_llm {

inline std::size_t at(int index) { return static_cast<std::size_t>(index); }

/// A matrix whose products are about as large as what it multiplies.
template <class Scale>
Matrix<Scale> drawn_matrix(int num_rows, int num_columns, int least_bits) {
  const int group_size = num_columns % 64 == 0 && coin() ? 64 : 32;
  const int bits = std::max(least_bits, one_of({2, 4, 8}));
  Matrix<Scale> w(num_rows, num_columns, group_size, bits);
  const float most = static_cast<float>((1 << bits) - 1);
  for (std::size_t i = 0; i < w.scales.size(); ++i) {
    const float step =
        (2 + uniform()) / (most * std::sqrt(static_cast<float>(num_columns)));
    store(step, w.scales[i]);
    store(-step * most / 2, w.biases[i]);
  }
  return w;
}

struct Sizes {
  int L, H, H_kv, D, E, I, offset, capacity;
};

/// A layer, and what its cache holds before it works.
template <class Scale>
struct Case {
  Sizes n;
  Matrix<Scale> query, key, value, output, gate, up, down;
  Numbers query_bias, key_bias, value_bias, gains, post_gains, cosines, sines;
  Numbers x, keys, values;

  explicit Case(const Sizes& s)
      : n(s),
        query(drawn_matrix<Scale>(s.H * s.D, s.E, 4)),
        key(drawn_matrix<Scale>(s.H_kv * s.D, s.E, 4)),
        value(drawn_matrix<Scale>(s.H_kv * s.D, s.E, 2)),
        output(drawn_matrix<Scale>(s.E, s.H * s.D, 2)),
        gate(drawn_matrix<Scale>(s.I, s.E, 2)),
        up(drawn_matrix<Scale>(s.I, s.E, 2)),
        down(drawn_matrix<Scale>(s.E, s.I, 2)),
        query_bias(numbers(1, s.H * s.D)),
        key_bias(numbers(1, s.H_kv * s.D)),
        value_bias(numbers(1, s.H_kv * s.D)),
        gains(numbers(1, s.E)),
        post_gains(numbers(1, s.E)),
        cosines(size_of(s.offset + s.L, s.D / 2)),
        sines(cosines.size()),
        x(numbers(s.L, s.E)),
        keys(numbers(s.H_kv * s.capacity, s.D)),
        values(numbers(s.H_kv * s.capacity, s.D)) {
    fill_rotations(1e4, s.D, {0, s.offset + s.L}, cosines.data(), sines.data());
  }

  static Numbers numbers(int rows, int columns) {
    return drawn_numbers(size_of(rows, columns));
  }

  Norm norm(const Numbers& weight) const { return {weight.data(), 1e-6f, n.E}; }

  LayerWeights<Scale> weights() const {
    return {query.view,        key.view,          value.view,
            output.view,       gate.view,         up.view,
            down.view,         query_bias.data(), key_bias.data(),
            value_bias.data(), norm(gains),       norm(post_gains),
            cosines.data(),    sines.data(),      n.H,
            n.H_kv,            n.D};
  }
};

}  // namespace tiny_llm
