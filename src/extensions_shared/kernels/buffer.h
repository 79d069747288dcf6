/// Memory that a kernel needs for itself.
#pragma once

#include <cstddef>
#include <new>

namespace tiny_llm {

/// Memory for some numbers, uninitialised. Its address is a multiple of 64: there a line
/// of the cache begins, so one load fills a register of 512 bits.
template <class Number>
class Buffer {
 public:
  explicit Buffer(std::ptrdiff_t size)
      : numbers_(static_cast<Number*>(::operator new(
            static_cast<std::size_t>(size) * sizeof(Number), std::align_val_t{64}))) {}

  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  ~Buffer() { ::operator delete(numbers_, std::align_val_t{64}); }

  Number* data() const { return numbers_; }

 private:
  Number* numbers_;
};

}  // namespace tiny_llm
