#include "glue/pages.h"

#include <cstddef>
#include <cstdint>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace tiny_llm {

#if defined(__linux__)

namespace {

constexpr std::uintptr_t large_page = 2 * 1024 * 1024;
constexpr std::size_t worth_asking = 32 * 1024;

#if defined(MADV_COLLAPSE)
constexpr int collapse = MADV_COLLAPSE;
#else
constexpr int collapse = 25;  // of Linux 6.1; an older one refuses it
#endif

}  // namespace

void prefer_large_pages(const mlx::core::array& array) {
  if (array.nbytes() < worth_asking) return;
  const auto address = reinterpret_cast<std::uintptr_t>(array.data<std::byte>());
  const std::uintptr_t first = address / large_page * large_page;
  const std::uintptr_t last = address + array.nbytes();
  // One by one: a page at an end may stand half in memory that is not mapped, which the
  // system refuses. A wish that is not granted changes nothing.
  for (std::uintptr_t page = first; page < last; page += large_page) {
    void* const memory = reinterpret_cast<void*>(page);
    madvise(memory, large_page, MADV_HUGEPAGE);
    madvise(memory, large_page, collapse);
  }
}

#else

void prefer_large_pages(const mlx::core::array&) {}

#endif

}  // namespace tiny_llm
