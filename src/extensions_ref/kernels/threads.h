/// Threads that share the rows of a kernel among them.
///
/// They are started once and live as long as the process, because starting a thread
/// takes tens of microseconds, as long as a whole product does. Between two kernels of
/// one token lie a few microseconds, so a thread that has nothing to do looks for work
/// some time before it goes to sleep.
///
/// What is run must not throw, and must not call `run` itself.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace tiny_llm {

/// Let the processor do something else for some cycles.
inline void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

class ThreadPool {
 public:
  /// Start `size` - 1 threads: the one that calls `run` works, too.
  explicit ThreadPool(int size) {
    for (int index = 1; index < size; ++index) {
      helpers_.emplace_back([this] { help(); });
    }
  }

  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  ~ThreadPool() {
    {
      const std::lock_guard lock(mutex_);
      stops_.store(true, std::memory_order_relaxed);
      ticket_.store((round() + 1) << 32, std::memory_order_release);
    }
    wake_.notify_all();
    for (std::thread& helper : helpers_) helper.join();
  }

  int size() const { return static_cast<int>(helpers_.size()) + 1; }

  /// Call `work(0)` to `work(num_pieces - 1)`, each once, and wait until all are done.
  ///
  /// Whoever is free takes the next piece. A thread that is late takes fewer, and one
  /// that still sleeps when the last piece is done is not waited for.
  void run(int num_pieces, const std::function<void(int)>& work) {
    if (num_pieces <= 1 || helpers_.empty()) {
      for (int piece = 0; piece < num_pieces; ++piece) work(piece);
      return;
    }
    const std::lock_guard one_at_a_time(callers_);
    {
      const std::lock_guard lock(mutex_);
      work_.store(&work, std::memory_order_relaxed);
      num_pieces_.store(num_pieces, std::memory_order_relaxed);
      num_done_.store(0, std::memory_order_relaxed);
      ticket_.store((round() + 1) << 32, std::memory_order_release);
    }
    wake_.notify_all();
    take_pieces();
    while (num_done_.load(std::memory_order_acquire) < num_pieces) pause_briefly();
  }

 private:
  /// Take pieces of the present round until there are none.
  ///
  /// The ticket names the round and the next piece, so it cannot be drawn once that
  /// round is over: what was read of `work_` between is used only if it still holds.
  void take_pieces() {
    std::uint64_t ticket = ticket_.load(std::memory_order_acquire);
    for (;;) {
      const auto* work = work_.load(std::memory_order_relaxed);
      const int piece = static_cast<int>(ticket & 0xffffffffu);
      if (piece >= num_pieces_.load(std::memory_order_relaxed)) return;
      if (!ticket_.compare_exchange_weak(
              ticket, ticket + 1, std::memory_order_acq_rel, std::memory_order_acquire)) {
        continue;
      }
      (*work)(piece);
      num_done_.fetch_add(1, std::memory_order_release);
      ticket = ticket_.load(std::memory_order_acquire);
    }
  }

  std::uint64_t round() const { return ticket_.load(std::memory_order_acquire) >> 32; }

  void help() {
    std::uint64_t seen = 0;
    for (;;) {
      wait_for_round_after(seen);
      if (stops_.load(std::memory_order_relaxed)) return;
      seen = round();
      take_pieces();
    }
  }

  void wait_for_round_after(std::uint64_t seen) {
    // Some 50 us: longer than the time between two kernels of one token.
    for (int i = 0; i < 2000; ++i) {
      if (round() != seen) return;
      pause_briefly();
    }
    std::unique_lock lock(mutex_);
    wake_.wait(lock, [&] { return round() != seen; });
  }

  std::vector<std::thread> helpers_;
  std::mutex callers_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::atomic<const std::function<void(int)>*> work_{nullptr};
  std::atomic<int> num_pieces_{0};
  std::atomic<int> num_done_{0};
  std::atomic<std::uint64_t> ticket_{0};  // round * 2**32 + next piece
  std::atomic<bool> stops_{false};
};

/// The pool of the process, with a thread for each core.
///
/// It is never destroyed: at the end of the process, others may still be using it.
inline ThreadPool& threads() {
  static ThreadPool* const pool =
      new ThreadPool(static_cast<int>(std::max(1u, std::thread::hardware_concurrency())));
  return *pool;
}

}  // namespace tiny_llm
