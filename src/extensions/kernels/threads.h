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
      stops_ = true;
      round_.fetch_add(1);
    }
    wake_.notify_all();
    for (std::thread& helper : helpers_) helper.join();
  }

  int size() const { return static_cast<int>(helpers_.size()) + 1; }

  /// Call `work(0)` to `work(num_pieces - 1)`, each once, and wait for all of them.
  ///
  /// Whoever is free takes the next piece, so a thread that is late takes fewer.
  void run(int num_pieces, const std::function<void(int)>& work) {
    if (num_pieces <= 1 || helpers_.empty()) {
      for (int piece = 0; piece < num_pieces; ++piece) work(piece);
      return;
    }
    const std::lock_guard one_at_a_time(callers_);
    {
      const std::lock_guard lock(mutex_);
      work_ = &work;
      num_pieces_ = num_pieces;
      next_.store(0, std::memory_order_relaxed);
      busy_.store(static_cast<int>(helpers_.size()), std::memory_order_relaxed);
      round_.fetch_add(1, std::memory_order_release);
    }
    wake_.notify_all();
    take_pieces();
    while (busy_.load(std::memory_order_acquire) > 0) pause_briefly();
  }

 private:
  void take_pieces() {
    for (;;) {
      const int piece = next_.fetch_add(1, std::memory_order_relaxed);
      if (piece >= num_pieces_) return;
      (*work_)(piece);
    }
  }

  void help() {
    std::uint64_t seen = 0;
    for (;;) {
      wait_for_round_after(seen);
      seen = round_.load(std::memory_order_acquire);
      if (stops_) return;
      take_pieces();
      busy_.fetch_sub(1, std::memory_order_release);
    }
  }

  void wait_for_round_after(std::uint64_t seen) {
    // Some 50 us: longer than the time between two kernels of one token.
    for (int i = 0; i < 2000; ++i) {
      if (round_.load(std::memory_order_acquire) != seen) return;
      pause_briefly();
    }
    std::unique_lock lock(mutex_);
    wake_.wait(lock, [&] { return round_.load(std::memory_order_acquire) != seen; });
  }

  std::vector<std::thread> helpers_;
  std::mutex callers_;
  std::mutex mutex_;
  std::condition_variable wake_;
  const std::function<void(int)>* work_ = nullptr;
  int num_pieces_ = 0;
  std::atomic<int> next_{0};
  std::atomic<int> busy_{0};
  std::atomic<std::uint64_t> round_{0};
  bool stops_ = false;
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
