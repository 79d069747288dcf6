/// Checks a layer for several texts against the layer for each, at sizes from a seed.
///
/// Both round activations to 8 bits, but add up in another order, and a sum that comes
/// out a bit larger may be rounded up. So results may be a little off, which a head or a
/// token at a wrong place exceeds by far.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "drawn_layer.h"
#include "kernels/layer.h"
#include "kernels/layer_rows.h"
#include "kernels/paged.h"

using namespace tiny_llm;

namespace {

int num_checks = 0;
double worst = 0;

/// One type will do: rows make no difference to what a weight is.
using Scale = Float16;

constexpr float nan = std::numeric_limits<float>::quiet_NaN();

/// A text: its keys and values in a buffer of its own, with NaN where nothing is yet.
struct Text {
  int L, offset, capacity;
  Numbers x, keys, values;
};

/// Keys and values of some tokens, and NaN after them: H_kv x capacity x D.
Numbers drawn_buffer(const Sizes& n, int taken, int capacity) {
  Numbers all(size_of(n.H_kv * capacity, n.D));
  for (int head = 0; head < n.H_kv; ++head) {
    for (int i = 0; i < capacity * n.D; ++i) {
      all[size_of(head * capacity, n.D) + at(i)] = i < taken * n.D ? 2 * uniform() : nan;
    }
  }
  return all;
}

Text drawn_text(const Sizes& n) {
  const int L = coin() ? 1 : drawn_size(40), offset = whole(0, 1) * whole(0, 90);
  const int capacity = offset + L + whole(0, 5);
  return {
      L, offset, capacity, Case<Scale>::numbers(L, n.E),
      drawn_buffer(n, offset, capacity), drawn_buffer(n, offset, capacity)};
}

void expect_near(const float* got, const Numbers& right, int taken, const char* what) {
  double squares = 0, off = 0;
  for (int i = 0; i < taken; ++i) {
    squares += std::pow(right[at(i)], 2);
    // Written so that NaN is off, too.
    const double distance = std::abs(static_cast<double>(got[i]) - right[at(i)]);
    off = distance <= off ? off : distance;
  }
  const double scale = std::sqrt(squares / taken);
  num_checks += taken;
  worst = std::max(worst, off / scale);
  if (off <= 0.02 * scale) return;
  std::printf("%s: off by %.3g, where numbers are about %.3g\n", what, off, scale);
  end_as_wrong();
}

/// Compare the keys or the values of a row, up to its last token.
void expect_remembered(
    const Sizes& n, const Text& alone, const LayerRow& row, float* LayerRow::* pages,
    const Numbers& right, const char* what) {
  for (int head = 0; head < n.H_kv; ++head) {
    for (int i = 0; i < alone.offset + alone.L; ++i) {
      const std::ptrdiff_t place = row.place_of(i, head, n.H_kv);
      const std::size_t first = size_of(head * alone.capacity + i, n.D);
      const auto begin = right.begin() + static_cast<std::ptrdiff_t>(first);
      expect_near(row.*pages + place * n.D, Numbers(begin, begin + n.D), n.D, what);
    }
  }
}

/// Run all rows at once, and compare with the layer that takes one.
void check(
    const Case<Scale>& c, const std::vector<Text>& texts,
    const std::vector<LayerRow>& rows, AttendPages attend) {
  const LayerWeights<Scale> weights = c.weights();
  Numbers x;
  for (const Text& text : texts) x.insert(x.end(), text.x.begin(), text.x.end());
  Numbers y(x.size());
  const auto run = [&] { run_layer_rows(weights, rows, attend, x.data(), y.data()); };
  if (!is_written(run)) return;
  const float* got = y.data();
  for (std::size_t i = 0; i < texts.size(); ++i) {
    Text alone = texts[i];
    const LayerCache cache{
        alone.keys.data(), alone.values.data(), alone.capacity, alone.offset};
    Numbers right(alone.x.size());
    run_layer(LayerParts<Scale>{weights, cache, alone.L}, alone.x.data(), right.data());
    expect_near(got, right, static_cast<int>(right.size()), "y");
    got += right.size();
    expect_remembered(c.n, alone, rows[i], &LayerRow::keys, alone.keys, "keys");
    expect_remembered(c.n, alone, rows[i], &LayerRow::values, alone.values, "values");
  }
}

/// Each row in a buffer of its own.
void check_buffers(const Case<Scale>& c, const std::vector<Text>& texts) {
  const std::int32_t first_page = 0;
  std::vector<Text> written = texts;
  std::vector<LayerRow> rows;
  for (Text& text : written) {
    rows.push_back(
        {text.L, text.offset, text.keys.data(), text.values.data(), text.capacity,
         &first_page});
  }
  check(c, texts, rows, nullptr);
}

/// All rows in pages of a pool, in any order. A table ends where its pages do.
void check_pages(const Case<Scale>& c, const std::vector<Text>& texts) {
  const int page_size = one_of({1, 3, 16, 50});
  std::vector<std::int32_t> free;
  std::vector<Exact<std::int32_t>> tables;
  for (const Text& text : texts) {
    tables.emplace_back(at((text.offset + text.L - 1) / page_size + 1));
    for (std::size_t i = 0; i < tables.back().size(); ++i) {
      free.push_back(static_cast<std::int32_t>(free.size()));
    }
  }
  for (int i = static_cast<int>(free.size()) - 1; i > 0; --i) {
    std::swap(free[at(i)], free[at(whole(0, i))]);
  }
  Numbers keys(size_of(static_cast<int>(free.size()) * c.n.H_kv * page_size, c.n.D), nan);
  Numbers values = keys;
  std::vector<LayerRow> rows;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    for (std::int32_t& page : tables[i]) {
      page = free.back();
      free.pop_back();
    }
    const Text& text = texts[i];
    rows.push_back(
        {text.L, text.offset, keys.data(), values.data(), page_size, tables[i].data()});
    for (int head = 0; head < c.n.H_kv; ++head) {
      for (int token = 0; token < text.offset; ++token) {
        const std::ptrdiff_t to = rows[i].place_of(token, head, c.n.H_kv) * c.n.D;
        const std::size_t from = size_of(head * text.capacity + token, c.n.D);
        std::copy_n(text.keys.data() + from, c.n.D, keys.data() + to);
        std::copy_n(text.values.data() + from, c.n.D, values.data() + to);
      }
    }
  }
  check(c, texts, rows, paged_attention_tiled);
}

Sizes drawn_sizes() {
  const int H_kv = whole(1, 2), H = H_kv * whole(1, 3), D = 32 * whole(1, 2);
  return {1, H, H_kv, D, 32 * whole(1, 4), 32 * whole(1, 5), 130, 1};
}

}  // namespace

int main(int argc, char** argv) {
  const Rounds rounds(argc, argv, 24);
  fuzz(rounds, [] {
    const Case<Scale> c(drawn_sizes());
    std::vector<Text> texts;
    for (int i = drawn_size(6); i > 0; --i) texts.push_back(drawn_text(c.n));
    coin() ? check_buffers(c, texts) : check_pages(c, texts);
  });
  std::printf("%d numbers, off by %.2g at most, are right\n", num_checks, worst);
  return 0;
}
