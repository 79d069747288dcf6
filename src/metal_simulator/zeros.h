// An array of zeros, of which only what is touched takes memory: pages that the operating
// system provides when they are needed.

#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <new>
#include <type_traits>

namespace simulator {

template <typename T>
class Zeros {
    static_assert(std::is_trivially_copyable_v<T>);

  public:
    explicit Zeros(std::size_t length) : num_bytes_((length + 1) * sizeof(T)) {
        constexpr int kind = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
        void* pages = mmap(nullptr, num_bytes_, PROT_READ | PROT_WRITE, kind, -1, 0);
        if (pages == MAP_FAILED) throw std::bad_alloc();
        items_ = static_cast<T*>(pages);
    }
    ~Zeros() { munmap(items_, num_bytes_); }
    Zeros(const Zeros&) = delete;
    Zeros& operator=(const Zeros&) = delete;

    T& operator[](std::size_t index) { return items_[index]; }

  private:
    std::size_t num_bytes_;
    T* items_;
};

}  // namespace simulator
