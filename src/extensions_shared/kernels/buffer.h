/// Memory that a kernel needs for itself.
///
/// A thread keeps what its kernels give back, for those that come next. The system hands
/// out memory page by page and fills each with zeros: without this, a third of the time
/// that a layer takes for 256 tokens (one core of an EPYC 9004, glibc 2.36).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <map>
#include <new>
#include <utility>

/// Whether the compiler was told to look after every address (ASan).
#if defined(__has_feature)
#define TINY_LLM_FINDS_BAD_ADDRESSES __has_feature(address_sanitizer)
#elif defined(__SANITIZE_ADDRESS__)
#define TINY_LLM_FINDS_BAD_ADDRESSES 1
#else
#define TINY_LLM_FINDS_BAD_ADDRESSES 0
#endif

namespace tiny_llm {

namespace detail {

/// A line of the cache begins where an address is a multiple of this.
inline constexpr std::align_val_t line_bytes{64};

/// The memory that a thread keeps, by size.
class Spares {
 public:
  Spares() = default;
  Spares(const Spares&) = delete;
  Spares& operator=(const Spares&) = delete;

  ~Spares() {
    while (!blocks_.empty()) release(blocks_.begin());
  }

  /// Find a block of this size or somewhat more, and return it with its real size.
  ///
  /// If there is none, the largest of the smaller ones goes: so no more blocks are kept
  /// than have been in use at a time.
  std::pair<std::size_t, void*> take(std::size_t size) {
    const auto fit = blocks_.lower_bound(size);
    if (fit != blocks_.end() && fit->first <= 2 * size) {
      const std::pair<std::size_t, void*> found = *fit;
      kept_bytes_ -= found.first;
      blocks_.erase(fit);
      return found;
    }
    if (fit != blocks_.begin()) release(std::prev(fit));
    return {size, ::operator new(size, line_bytes)};
  }

  void give_back(std::size_t size, void* block) {
    if (kept_bytes_ + size > most_bytes) {
      ::operator delete(block, line_bytes);
      return;
    }
    kept_bytes_ += size;
    blocks_.emplace(size, block);
  }

  std::size_t kept_bytes() const { return kept_bytes_; }

 private:
  using Blocks = std::multimap<std::size_t, void*>;

#if TINY_LLM_FINDS_BAD_ADDRESSES
  /// Whoever writes behind a buffer is found only if the memory there is nobody's.
  static constexpr std::size_t most_bytes = 0;
#else
  /// What a layer of Qwen2-0.5B needs for a prompt of 1024 tokens.
  static constexpr std::size_t most_bytes = std::size_t{96} << 20;
#endif

  void release(Blocks::iterator block) {
    kept_bytes_ -= block->first;
    ::operator delete(block->second, line_bytes);
    blocks_.erase(block);
  }

  Blocks blocks_;
  std::size_t kept_bytes_ = 0;
};

/// The memory that this thread keeps.
inline Spares& spares() {
  static thread_local Spares own;
  return own;
}

}  // namespace detail

/// Memory for some numbers, uninitialised. Its address is a multiple of 64: there a line
/// of the cache begins, so one load fills a register of 512 bits.
template <class Number>
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::ptrdiff_t size)
      : block_(detail::spares().take(
            std::max<std::size_t>(1, static_cast<std::size_t>(size) * sizeof(Number)))) {}

  Buffer(Buffer&& other) noexcept : block_(std::exchange(other.block_, {})) {}
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }

  ~Buffer() {
    if (block_.second != nullptr) {
      detail::spares().give_back(block_.first, block_.second);
    }
  }

  Number* data() const { return static_cast<Number*>(block_.second); }

 private:
  std::pair<std::size_t, void*> block_{};
};

}  // namespace tiny_llm
