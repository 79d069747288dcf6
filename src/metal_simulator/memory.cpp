#include "memory.h"

#include <sys/mman.h>

#include <cstring>
#include <new>
#include <stdexcept>

namespace simulator {
namespace {

// In every floating-point type, bytes of ones are not a number.
constexpr int no_value = 0xFF;

}  // namespace

const char* name_of(Space space) {
    switch (space) {
        case Space::device: return "device";
        case Space::constant: return "constant";
        case Space::threadgroup: return "threadgroup";
    }
    return "";
}

std::int64_t Region::index_of(std::uintptr_t address) const {
    const auto distance =
        static_cast<std::int64_t>(address - reinterpret_cast<std::uintptr_t>(begin));
    const auto width = static_cast<std::int64_t>(element_size);
    return distance >= 0 ? distance / width : -((-distance + width - 1) / width);
}

bool Region::is_initialised(std::size_t offset, std::size_t num_bytes) const {
    if (initialised.empty()) return true;
    unsigned all = 1;
    for (std::size_t n = 0; n < num_bytes; ++n) all &= initialised[offset + n];
    return all != 0;
}

void Region::initialise(std::size_t offset, std::size_t num_bytes) {
    if (!initialised.empty()) std::memset(&initialised[offset], 1, num_bytes);
}

void Region::scramble() {
    initialised.assign(size, 0);
    std::memset(begin, no_value, size);
}

Arena::Arena() {
    constexpr int kind = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void* pages = mmap(nullptr, num_slots << slot_bits, PROT_NONE, kind, -1, 0);
    if (pages == MAP_FAILED) throw std::bad_alloc();
    begin_ = reinterpret_cast<std::uintptr_t>(pages);
}

Arena::~Arena() {
    munmap(reinterpret_cast<void*>(begin_), num_slots << slot_bits);
}

Region& Arena::add(const std::string& name, Space space, std::size_t size,
                   std::size_t element_size) {
    if (regions_.size() == num_slots) throw std::runtime_error("too many buffers");
    const auto slot = begin_ + (regions_.size() << slot_bits);
    auto* begin = reinterpret_cast<std::byte*>(slot + room_below);
    if (size != 0 && mprotect(begin, size, PROT_READ | PROT_WRITE) != 0) {
        throw std::bad_alloc();
    }
    regions_.push_back(std::make_unique<Region>(
        Region{name, space, element_size, begin, size, {}, nullptr}));
    return *regions_.back();
}

}  // namespace simulator
