/// Time the rungs of byte_product.h: on panels in the cache, and on a large matrix.
///
///     c++ -std=c++20 -O3 -ffp-contract=fast -pthread -Isrc -Isrc/extensions_shared
///         src/worked_examples/byte_product.cpp -o product
///     ./product
///     TINY_LLM_INSTRUCTIONS=avx2 ./product
///
/// The second uses registers of 32 bytes where there are wider ones.
/// Before it times a rung, it compares it with the formula in double. In the cache,
/// tiles find their panels packed, and packing is timed by itself. To round x, and to
/// lay its tokens side by side, is not part of a time.
#include "worked_examples/byte_product.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>
#include <string>

#include "worked_examples/timing.h"

namespace {

using namespace worked;
using tiny_llm::Instructions;

constexpr int num_tokens = 240;  // what 1, 2, 4, 6, 8, 12, 16, 24, 30 and 40 divide
constexpr int num_columns = 896;

std::size_t size(int rows, int columns) {
  return static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns);
}

/// A random matrix, and the tokens to multiply it by: as floats and as bytes.
struct Problem {
  explicit Problem(int num_rows)
      : q(size(num_rows, num_columns)),
        scales(static_cast<std::size_t>(num_rows), 0.01f),
        x(size(num_tokens, num_columns)),
        y(size(num_tokens, num_rows)),
        w{q.data(), scales.data(), num_rows, num_columns} {
    std::mt19937 random(7);
    for (auto& one : q) one = static_cast<std::uint8_t>(random());
    std::normal_distribution<float> normal;
    for (float& one : x) one = normal(random);
    bytes = in_bytes();
  }

  /// Round all tokens, and lay those of a tile side by side, four columns of each.
  ByteTokens in_bytes() const {
    ByteTokens all{std::vector<std::int8_t>(x.size()), {}, {}};
    for (int t = 0; t < num_tokens; ++t) {
      const ByteVector one = rounded(x.data() + size(t, num_columns), num_columns);
      all.scales.push_back(one.scale);
      all.sums.push_back(one.sum);
      std::int8_t* to = all.p.data() + size(t - t % tile_tokens, num_columns);
      to += t % tile_tokens * 4;
      for (std::size_t i = 0; i < one.p.size(); i += 4, to += 4 * tile_tokens) {
        std::memcpy(to, one.p.data() + i, 4);
      }
    }
    return all;
  }

  std::vector<std::uint8_t> q;
  std::vector<float> scales, x, y;
  ByteMatrix w;
  ByteTokens bytes;
};

/// A way to compute all of y.
struct Rung {
  std::string name;
  std::function<void(Problem&)> compute;
  Time time = Time::of_this_thread;
};

/// What multiplies tiles of so many tokens, in the widest registers that are allowed.
template <int at_once>
FloatTile best_tile() {
  switch (tiny_llm::instructions()) {
#if defined(__x86_64__)
    case Instructions::avx512_vnni: return float_tile_avx512<at_once>;
    case Instructions::avx_vnni:
    case Instructions::avx2: return float_tile_avx2<at_once>;
#endif
    default: return float_tile_of<at_once>;
  }
}

/// Lay the tokens of each tile side by side, number by number.
std::vector<float> side_by_side(const std::vector<float>& x, int at_once) {
  std::vector<float> tokens(x.size());
  for (int t = 0; t < num_tokens; ++t) {
    const int first = t - t % at_once;
    float* to = tokens.data() + size(first, num_columns) + (t - first);
    const float* const token = x.data() + size(t, num_columns);
    for (int i = 0; i < num_columns; ++i, to += at_once) *to = token[i];
  }
  return tokens;
}

/// Tiles of floats. What they read is packed when the rung is made, not in its time.
template <int at_once>
Rung in_float_tiles(const Problem& from) {
  std::vector<float> panels(from.q.size());
  unpack_panels(from.w, Rows{0, from.w.num_rows}, panels.data());
  const FloatTile tile = best_tile<at_once>();
  const auto tokens = side_by_side(from.x, at_once);
  const auto multiply = [=](Problem& one) {
    float sums[at_once][panel_rows];
    for (int t = 0; t < num_tokens; t += at_once) {
      for (int o = 0; o < one.w.num_rows; o += panel_rows) {
        tile(tokens.data() + size(t, num_columns), panels.data() + size(o, num_columns),
             num_columns, sums[0]);
        for (int k = 0; k < at_once; ++k) {
          float* const to = one.y.data() + size(t + k, one.w.num_rows) + o;
          for (int r = 0; r < panel_rows; ++r) to[r] = one.w.scales[o + r] * sums[k][r];
        }
      }
    }
  };
  return {"tiles of " + std::to_string(at_once), multiply};
}

/// Tiles of bytes, of panels that are packed already.
Rung in_byte_tiles(const char* name, ByteTile tile, const Problem& from) {
  std::vector<std::uint8_t> panels(from.q.size());
  pack_panels(from.w, Rows{0, from.w.num_rows}, panels.data());
  return {name, [=](Problem& one) {
            std::int32_t dots[tile_tokens * panel_rows];
            for (int t = 0; t < num_tokens; t += tile_tokens) {
              for (int o = 0; o < one.w.num_rows; o += panel_rows) {
                tile(one.bytes.p.data() + size(t, num_columns),
                     panels.data() + size(o, num_columns), num_columns, dots);
                write_outputs(dots, one.bytes, t, one.w, o, one.y.data());
              }
            }
          }};
}

/// A token at a time by panels, with so many rows unpacked together.
Rung in_panels(const std::string& name, FloatTile tile, int rows_together) {
  return {name, [=](Problem& one) {
            product_in_panels(
                tile, one.x.data(), one.w, one.y.data(), num_tokens, rows_together);
          }};
}

/// The product in tiles of bytes with their packing, so many rows at a time.
Rung with_packing(const std::string& name, ByteTile tile, int rows_together) {
  return {name, [=](Problem& one) {
            for (int o = 0; o < one.w.num_rows; o += rows_together) {
              const Rows rows{o, std::min(o + rows_together, one.w.num_rows)};
              rows_in_byte_tiles(tile, one.bytes, one.w, one.y.data(), rows);
            }
          }};
}

/// The same, shared by all cores in pieces of so many panels.
Rung on_all_cores(int panels_of_piece, ByteTile tile) {
  return {"pieces of " + std::to_string(panels_of_piece) + " panels",
          [=](Problem& one) {
            rows_on_all_cores(one.w, panels_of_piece * panel_rows, [&](Rows rows) {
              rows_in_byte_tiles(tile, one.bytes, one.w, one.y.data(), rows);
            });
          },
          Time::passing};
}

/// What multiplies tiles of bytes best here.
ByteTile best_byte_tile() {
#if defined(__x86_64__)
  if (tiny_llm::instructions() == Instructions::avx512_vnni) return byte_tile_vnni;
#endif
  return byte_tile;
}

/// The rungs on panels in the cache.
std::vector<Rung> rungs_in_cache(const Problem& one) {
  const auto of_floats = [](const char* name, auto product) {
    return Rung{name, [=](Problem& some) {
                  product(some.x.data(), some.w, some.y.data(), num_tokens);
                }};
  };
  std::vector<Rung> found = {
      of_floats("plain", product_plain),
      of_floats("unpacked once", product_unpacked_once),
      in_panels("lanes in loops", panel_in_loops, panel_rows),
      in_panels("lanes", panel_in_lanes, panel_rows),
      in_float_tiles<1>(one),
      in_float_tiles<2>(one),
      in_float_tiles<4>(one),
      in_float_tiles<6>(one),
      in_float_tiles<8>(one),
      in_float_tiles<12>(one),
      in_float_tiles<16>(one),
      in_float_tiles<24>(one),
      in_float_tiles<30>(one),
      in_float_tiles<40>(one),
      in_byte_tiles("bytes", byte_tile, one),
  };
  if (best_byte_tile() != byte_tile) {
    found.push_back(in_byte_tiles("VNNI", best_byte_tile(), one));
  }
  return found;
}

/// Nothing but packing.
const Rung packing{"packing", [](Problem& one) {
                     std::vector<std::uint8_t> panels(one.q.size());
                     pack_panels(one.w, Rows{0, one.w.num_rows}, panels.data());
                     one.y[0] += panels[0];
                   }};

/// The rungs on the whole matrix.
std::vector<Rung> rungs_on_all(int num_rows) {
  std::vector<Rung> found;
  for (const int rows : {16, 64, 256, 1024, num_rows}) {
    const std::string name = "lanes, " + std::to_string(rows) + " rows";
    found.push_back(in_panels(name, panel_in_lanes, rows));
  }
  found.push_back(with_packing("tiles of bytes", best_byte_tile(), 4 * panel_rows));
  for (const int panels : {1, 4, 16, 64}) {
    found.push_back(on_all_cores(panels, best_byte_tile()));
  }
  return found;
}

/// Compute y in double.
std::vector<double> formula(const Problem& one) {
  std::vector<double> y;
  for (int t = 0; t < num_tokens; ++t) {
    const float* const x = one.x.data() + size(t, num_columns);
    for (int o = 0; o < one.w.num_rows; ++o) {
      const std::uint8_t* const q = one.w.row(o);
      double sum = 0;
      for (int i = 0; i < num_columns; ++i) sum += (q[i] - zero) * double{x[i]};
      y.push_back(double{one.w.scales[o]} * sum);
    }
  }
  return y;
}

/// Stop unless all rungs agree with the formula, but for the rounding of x to bytes.
void check(const std::vector<Rung>& all, Problem& one) {
  const std::vector<double> right = formula(one);
  // Half a step of a byte in each term, as often up as down: 6 times its spread.
  const double allowed = 6 * 0.01 * 74 * 0.016 * std::sqrt(num_columns);
  for (const Rung& rung : all) {
    std::fill(one.y.begin(), one.y.end(), 0.0f);
    rung.compute(one);
    for (std::size_t at = 0; at < right.size(); ++at) {
      if (std::fabs(one.y[at] - right[at]) <= allowed) continue;
      std::printf("%s: output %zu is %g, not %g\n", rung.name.c_str(), at,
                  double{one.y[at]}, right[at]);
      std::exit(1);
    }
  }
}

void time_all(
    const char* where, Problem& one, const std::vector<Rung>& all, int num_rounds) {
  const auto run = [&](const Rung& rung) { rung.compute(one); };
  time_in_turns(where, all, num_rounds, 1, run);
}

}  // namespace

int main(int count, char** arguments) {
  const bool is_brief = count > 1 && std::strcmp(arguments[1], "--brief") == 0;
  Problem few(32);
  check(rungs_in_cache(few), few);
  check(rungs_on_all(few.w.num_rows), few);
  if (is_brief) return 0;
  // 57,344 bytes are four panels, and 4.4 million the gate of Qwen2-0.5B.
  Problem small(64), gate(4864);
  print_header();
  print("a thousand cycles", "", 1000 * cycle_ns());
  std::vector<Rung> in_cache = rungs_in_cache(small);
  in_cache.push_back(packing);
  time_all("cache", small, in_cache, 60);
  time_all("gate", gate, rungs_on_all(gate.w.num_rows), 15);
}
