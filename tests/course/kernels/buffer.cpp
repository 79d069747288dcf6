/// Check what a thread keeps of the memory that its kernels give back.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <utility>

#include "kernels/buffer.h"

namespace {

using tiny_llm::Buffer;

constexpr std::ptrdiff_t megabyte = 1 << 20;

void expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "expected %s\n", what);
  std::exit(1);
}

/// Make a buffer, write to both of its ends, and return where it was.
std::uintptr_t place_of(std::ptrdiff_t size) {
  const Buffer<char> buffer(size);
  if (size > 0) buffer.data()[0] = buffer.data()[size - 1] = 1;
  const auto place = reinterpret_cast<std::uintptr_t>(buffer.data());
  expect(place % 64 == 0, "a line of the cache to begin at every buffer");
  return place;
}

void keeps_memory_for_the_next_buffer() {
  const std::uintptr_t first = place_of(megabyte);
  expect(place_of(megabyte) == first, "the memory of the buffer before");
  expect(place_of(megabyte - 4096) == first, "it to serve for somewhat less, too");
}

void gives_no_memory_out_twice() {
  const Buffer<char> one(megabyte), other(megabyte);
  expect(one.data() != other.data(), "memory of its own for each buffer");
}

void leaves_small_buffers_alone() {
  const std::uintptr_t large = place_of(megabyte);
  const Buffer<char> small(64);
  expect(place_of(megabyte) == large, "a small buffer to take no large memory");
}

void hands_its_memory_over() {
  Buffer<char> first(megabyte);
  char* const place = first.data();
  Buffer<char> second(std::move(first));
  Buffer<char> third;
  third = std::move(second);
  expect(third.data() == place, "a moved buffer to keep its place");
}

/// Each size asks for memory anew. Whoever kept all of it would hold gigabytes.
void keeps_no_more_than_was_in_use() {
  auto& spares = tiny_llm::detail::spares();
  for (std::ptrdiff_t size = megabyte; size < 60 * megabyte; size = size * 2 + 64) {
    place_of(size);
  }
  expect(spares.kept_bytes() < 62 * megabyte, "blocks that are too small to go");
  place_of(1024 * megabyte);
  expect(spares.kept_bytes() < 65 * megabyte, "a block of a gigabyte to go at once");
}

}  // namespace

int main(int, char**) {
  if constexpr (!TINY_LLM_FINDS_BAD_ADDRESSES) {
    keeps_memory_for_the_next_buffer();
    leaves_small_buffers_alone();
  }
  gives_no_memory_out_twice();
  hands_its_memory_over();
  keeps_no_more_than_was_in_use();
  std::thread(gives_no_memory_out_twice).join();
  place_of(0);
  std::puts("right");
  return 0;
}
