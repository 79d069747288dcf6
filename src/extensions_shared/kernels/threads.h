/// Threads that share the pieces of a kernel among them.
///
/// They are started once and live as long as the process, because starting a thread
/// takes tens of microseconds, as long as a whole product does. Between two kernels of
/// one token lie a few microseconds, so a thread that has nothing to do looks for work
/// some time before it goes to sleep.
///
/// Nobody waits for a thread that has not come: on a busy machine it may take
/// milliseconds to, and the others do all the work meanwhile.
///
/// What is run must not throw. It may call `run` itself, as a kernel that works on a piece
/// of something larger does: that piece is then done by the thread that has taken it.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "kernels/quantized_matrix.h"

namespace tiny_llm {

/// Let the processor do something else for some cycles.
inline void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Tell whether threads get in each other's way, as on a busy machine: TINY_LLM_WATCH is
/// 1, as it is in the tests. Then pieces come in another order, and every other time
/// some of them late.
inline bool are_hindered() {
  const char* const chosen = std::getenv("TINY_LLM_WATCH");
  return chosen != nullptr && chosen[0] == '1';
}

/// Wait before every third piece: long enough for other threads to get ahead.
inline void hinder(int taken) {
  if (taken % 3 == 0) std::this_thread::sleep_for(std::chrono::microseconds(20));
}

/// While there is one, its thread shares nothing: it does all that it runs by itself.
///
/// What is run then may throw: the caller gets to see it.
class Alone {
 public:
  Alone() : was_alone_(std::exchange(is_alone_, true)) {}
  ~Alone() { is_alone_ = was_alone_; }

  Alone(const Alone&) = delete;
  Alone& operator=(const Alone&) = delete;

  /// Tell whether the thread that asks shares nothing.
  static bool is_so() { return is_alone_; }

 private:
  static inline thread_local bool is_alone_ = false;
  bool was_alone_;
};

class ThreadPool {
 public:
  using Work = std::function<void(int)>;

  /// Start `size` - 1 threads: the one that calls `run` works, too.
  explicit ThreadPool(int size) {
    for (int index = 1; index < size; ++index) {
      helpers_.emplace_back([this] { help(); });
    }
  }

  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  ~ThreadPool() {
    stops_.store(true);
    begin_round(nullptr, 0);
    for (std::thread& helper : helpers_) helper.join();
  }

  int size() const { return static_cast<int>(helpers_.size()) + 1; }

  /// Call `work(0)` to `work(num_pieces - 1)`, each once, and wait for all of them.
  ///
  /// Whoever is free takes the next piece, so a thread that is late takes fewer.
  void run(int num_pieces, const Work& work) {
    if (!are_hindered()) return share(num_pieces, work);
    const bool are_late = num_hindered_.fetch_add(1) % 2 == 0;
    share(num_pieces, [&](int taken) {
      if (are_late) hinder(taken);
      work(num_pieces - 1 - taken);
    });
  }

 private:
  /// Do what `run` says, without getting in the way.
  void share(int num_pieces, const Work& work) {
    if (num_pieces <= 1 || helpers_.empty() || Alone::is_so()) {
      for (int piece = 0; piece < num_pieces; ++piece) work(piece);
      return;
    }
    const std::lock_guard one_at_a_time(callers_);
    num_done_.store(0, std::memory_order_relaxed);
    begin_round(&work, num_pieces);
    take_pieces();
    while (num_done_.load(std::memory_order_acquire) < num_pieces) pause_briefly();
  }

  // The state is the number of a round, and below it how many of its pieces are taken.
  // Who takes a piece raises the state, which fails once a new round has begun, so that
  // `work_` and `num_pieces_` are always those of the round that the piece is of.
  static constexpr std::uint64_t one_round = std::uint64_t{1} << 32;
  static constexpr std::uint64_t pieces_mask = one_round - 1;

  void begin_round(const Work* work, int num_pieces) {
    // All pieces count as taken while work and number change.
    const std::uint64_t round = (state_.load(std::memory_order_relaxed) & ~pieces_mask);
    state_.store(round | pieces_mask);
    work_.store(work);
    num_pieces_.store(num_pieces);
    {
      const std::lock_guard lock(mutex_);
      state_.store(round + one_round);
    }
    if (num_sleeping_.load() > 0) wake_.notify_all();
  }

  void take_pieces() {
    for (;;) {
      std::uint64_t state = state_.load();
      const Work* const work = work_.load();
      const auto taken = state & pieces_mask;
      if (taken >= static_cast<std::uint64_t>(num_pieces_.load())) return;
      if (!state_.compare_exchange_weak(state, state + 1)) continue;
      do_alone(*work, static_cast<int>(taken));
      num_done_.fetch_add(1, std::memory_order_release);
    }
  }

  /// A piece is not shared once more: the lock is taken, and the others are busy.
  static void do_alone(const Work& work, int piece) {
    const Alone alone;
    work(piece);
  }

  void help() {
    std::uint64_t round = 0;
    while (!stops_.load()) {
      take_pieces();
      wait_for_round_after(round);
      round = state_.load() & ~pieces_mask;
    }
  }

  void wait_for_round_after(std::uint64_t seen) {
    const auto is_new = [&] { return (state_.load() & ~pieces_mask) != seen; };
    // Some 50 us: longer than the time between two kernels of one token.
    for (int i = 0; i < 2000; ++i) {
      if (is_new()) return;
      pause_briefly();
    }
    std::unique_lock lock(mutex_);
    num_sleeping_.fetch_add(1);
    wake_.wait(lock, is_new);
    num_sleeping_.fetch_sub(1);
  }

  std::vector<std::thread> helpers_;
  std::mutex callers_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::atomic<const Work*> work_{nullptr};
  std::atomic<int> num_pieces_{0};
  std::atomic<std::uint64_t> state_{0};
  std::atomic<int> num_done_{0};
  std::atomic<unsigned> num_hindered_{0};
  std::atomic<int> num_sleeping_{0};
  std::atomic<bool> stops_{false};
};

/// The pool of the process, with a thread for each core.
///
/// It is never destroyed: at the end of the process, others may still be using it.
inline ThreadPool& threads() {
  const unsigned least = are_hindered() ? 4 : 1;
  static ThreadPool* const pool = new ThreadPool(
      static_cast<int>(std::max(least, std::thread::hardware_concurrency())));
  return *pool;
}

/// Let `work` do all rows, shared among the threads if there is enough to do.
///
/// `work` takes some `Rows`. `numbers_per_row` says how much a row is.
template <class Work>
void share_rows(int num_rows, std::int64_t numbers_per_row, const Work& work) {
  // To wake a thread takes some 2 us, in which one does this much by itself.
  constexpr std::int64_t num_worth_sharing = 32768;
  const bool is_worth = num_rows * numbers_per_row > num_worth_sharing;
  // Some more pieces than threads: one that begins late takes fewer.
  const int num_pieces = is_worth ? std::min(num_rows, 4 * threads().size()) : 1;
  const auto begin = [=](int piece) {
    return static_cast<int>(static_cast<std::int64_t>(num_rows) * piece / num_pieces);
  };
  threads().run(
      num_pieces, [&](int piece) { work(Rows{begin(piece), begin(piece + 1)}); });
}

}  // namespace tiny_llm
