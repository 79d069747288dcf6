/// Checks that pieces which share out pieces themselves do all of them, and that what is
/// thrown by somebody who shares nothing reaches the caller.
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "kernels/threads.h"

using namespace tiny_llm;

namespace {

void expect(bool holds, const char* what) {
  if (holds) return;
  std::printf("expected %s\n", what);
  std::exit(1);
}

void check_pieces_of_pieces(ThreadPool& pool) {
  constexpr int num_outer = 20, num_inner = 30;
  std::vector<int> times(num_outer * num_inner);
  pool.run(num_outer, [&](int outer) {
    pool.run(num_inner, [&](int inner) {
      ++times[static_cast<std::size_t>(outer * num_inner + inner)];
    });
  });
  for (const int one : times) expect(one == 1, "each piece to be done once");
}

void check_throwing(ThreadPool& pool) {
  bool is_caught = false;
  try {
    const Alone alone;
    pool.run(20, [](int piece) {
      if (piece == 7) throw piece;
    });
  } catch (int piece) {
    is_caught = piece == 7;
  }
  expect(is_caught, "what is thrown to reach the caller");
  expect(!Alone::is_so(), "others to share in what comes after");
}

}  // namespace

int main(int, char**) {
  ThreadPool pool(4);
  for (int round = 0; round < 200; ++round) check_pieces_of_pieces(pool);
  check_throwing(pool);
  std::printf("all is right\n");
  return 0;
}
