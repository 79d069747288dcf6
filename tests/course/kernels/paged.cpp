/// Checks attention to pages against plain loops in double, over odd sizes.
///
/// Compiled with sanitizers: every array is as long as it has to be and no longer, so a
/// number that is read or written beside it ends the program. What is in the pages and
/// belongs to no row is NaN, so that one that is read there shows.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <vector>

#include "drawn.h"
#include "kernels/paged.h"

using namespace tiny_llm;

namespace {

int num_checks = 0;

void expect_near(double got, double expected, const char* where) {
  ++num_checks;
  if (std::abs(got - expected) <= 2e-5 * (1 + std::abs(expected))) return;
  std::printf("%s: expected %.9g, got %.9g\n", where, expected, got);
  end_as_wrong();
}

/// Keys or values of a row, in the order of the text: S x H_kv x D.
using Context = std::vector<float>;

struct Sizes {
  int H_q, H, D, P;
};

/// A row, with what its pages hold and arrays that end where memory ends.
struct Row {
  int num_queries;
  int num_keys;
  Context keys, values;
  Exact<std::int32_t> table;

  Row(const Sizes& n, int L, int S) : num_queries(L), num_keys(S) {
    for (Context* one : {&keys, &values}) {
      for (int i = 0; i < S * n.H * n.D; ++i) one->push_back(2 * uniform());
    }
    table.resize(static_cast<std::size_t>((S - 1) / n.P + 1));
  }

  const float* at(const Context& all, const Sizes& n, int j, int h) const {
    return &all[static_cast<std::size_t>((j * n.H + h) * n.D)];
  }
};

/// A result, as the formula says.
std::vector<double> attended(
    const PagedAttention& a, const Sizes& n, const Row& row, int r, int h, int i) {
  const PagedRow& own = a.rows[r];
  const float* const q = a.query_at(own, h, i);
  const int kv_head = h / a.group();
  std::vector<double> scores, y(static_cast<std::size_t>(n.D));
  for (int j = 0; j < a.keys_seen_by(own, i); ++j) {
    const float* const k = row.at(row.keys, n, j, kv_head);
    double score = 0;
    for (int d = 0; d < n.D; ++d) score += static_cast<double>(q[d]) * k[d];
    scores.push_back(score * static_cast<double>(a.scale));
  }
  const double top = *std::max_element(scores.begin(), scores.end());
  double total = 0;
  for (double& score : scores) total += score = std::exp(score - top);
  for (std::size_t j = 0; j < scores.size(); ++j) {
    const float* const v = row.at(row.values, n, static_cast<int>(j), kv_head);
    for (std::size_t d = 0; d < y.size(); ++d) y[d] += scores[j] / total * v[d];
  }
  return y;
}

/// The pages of all rows, in a random order, and NaN where no token lies.
struct Pool {
  Numbers keys, values;
  Pages pages;

  Pool(const Sizes& n, std::vector<Row>& rows) {
    std::vector<std::int32_t> order;
    for (const Row& row : rows) {
      for (std::size_t i = 0; i < row.table.size(); ++i) {
        order.push_back(static_cast<std::int32_t>(order.size()));
      }
    }
    if (coin()) order.push_back(static_cast<std::int32_t>(order.size()));
    for (std::size_t i = order.size() - 1; i > 0; --i) {
      std::swap(order[i], order[static_cast<std::size_t>(whole(0, static_cast<int>(i)))]);
    }
    const int num_pages = static_cast<int>(order.size());
    const float nan = std::numeric_limits<float>::quiet_NaN();
    keys.assign(size_of(num_pages, n.H * n.P * n.D), nan);
    values = keys;
    pages = {keys.data(), values.data(), n.H, n.P, n.D};
    for (Row& row : rows) {
      for (std::int32_t& page : row.table) {
        page = order.back();
        order.pop_back();
      }
      fill(n, row);
    }
  }

 private:
  void fill(const Sizes& n, const Row& row) {
    std::size_t from = 0;
    for (int j = 0; j < row.num_keys; ++j) {
      for (int h = 0; h < n.H; ++h, from += static_cast<std::size_t>(n.D)) {
        const int page = row.table[static_cast<std::size_t>(j / n.P)];
        const std::ptrdiff_t to = pages.place(page, h, j % n.P);
        std::copy_n(row.keys.data() + from, n.D, keys.data() + to);
        std::copy_n(row.values.data() + from, n.D, values.data() + to);
      }
    }
  }
};

/// Both rungs, with heads before tokens or tokens before heads, causal or not.
void check_all(const Sizes& n, std::vector<Row> rows) {
  const Pool pool(n, rows);
  const int most = std::max_element(rows.begin(), rows.end(), [](auto& one, auto& two) {
                     return one.num_queries < two.num_queries;
                   })->num_queries;
  const bool is_token_first = coin();
  const std::ptrdiff_t head = is_token_first ? n.D : std::ptrdiff_t{most} * n.D;
  const std::ptrdiff_t position = is_token_first ? std::ptrdiff_t{n.H_q} * n.D : n.D;
  std::vector<Numbers> queries, outputs;
  std::vector<PagedRow> views;
  for (const Row& row : rows) {
    const std::ptrdiff_t last = (n.H_q - 1) * head + (row.num_queries - 1) * position;
    const auto size = static_cast<std::size_t>(last + n.D);
    queries.push_back(drawn_numbers(size));
    outputs.push_back(Numbers(size, 7.0f));
    views.push_back({queries.back().data(), outputs.back().data(), row.table.data(),
                     row.num_queries, row.num_keys});
  }
  PagedAttention a{pool.pages, views.data(), static_cast<int>(views.size()),
                   head,       position,     n.H_q,
                   false,      0.3f};
  // The right results and where they belong are the same for both rungs.
  std::vector<std::pair<const float*, std::vector<double>>> truth;
  const auto check = [&](const char* where) {
    for (const auto& [y, right] : truth) {
      for (std::size_t d = 0; d < right.size(); ++d) expect_near(y[d], right[d], where);
    }
    for (Numbers& y : outputs) std::fill(y.begin(), y.end(), 7.0f);
  };
  for (const bool is_causal : {false, true}) {
    a.is_causal = is_causal;
    truth.clear();
    for (int r = 0; r < a.num_rows; ++r) {
      const Row& row = rows[static_cast<std::size_t>(r)];
      for (int h = 0; h < n.H_q; ++h) {
        for (int i = 0; i < row.num_queries; ++i) {
          truth.emplace_back(a.output_at(a.rows[r], h, i), attended(a, n, row, r, h, i));
        }
      }
    }
    if (is_written([&] { paged_attention_online(a); })) check("online");
    if (is_written([&] { paged_attention_tiled(a); })) check("tiled");
  }
}

/// Rows of so many queries and keys.
void check_rows(const Sizes& n, std::vector<std::pair<int, int>> lengths) {
  std::vector<Row> rows;
  for (const auto& [L, S] : lengths) rows.emplace_back(n, L, S);
  check_all(n, std::move(rows));
}

void check_fixed() {
  check_rows({1, 1, 1, 1}, {{1, 1}});
  check_rows({6, 2, 5, 4}, {{3, 7}, {1, 8}, {2, 2}});
  check_rows({14, 2, 64, 16}, {{1, 300}, {1, 16}});
  check_rows({7, 1, 20, 16}, {{34, 90}, {1, 65}});
  check_rows({2, 1, 31, 128}, {{65, 65}});
  check_rows({4, 2, 10, 5}, {{2, 600}, {1, 3}});
}

/// Sizes whose product is not too large: the truth takes its time.
void check_drawn() {
  const int H = whole(1, 3), P = one_of({1, 3, 16, 16, 64, 100});
  const Sizes n{H * whole(1, 4), H, drawn_size(40), P};
  std::vector<std::pair<int, int>> lengths;
  for (int row = whole(1, 3); row > 0; --row) {
    const int L = coin() ? 1 : drawn_size(50);
    lengths.push_back({L, L + drawn_size(L > 3 ? 90 : 700) - 1});
  }
  check_rows(n, lengths);
}

}  // namespace

int main(int argc, char** argv) {
  const Rounds rounds(argc, argv, 40);
  if (!rounds.is_long) check_fixed();
  fuzz(rounds, check_drawn);
  std::printf("%d numbers are right\n", num_checks);
  return 0;
}
