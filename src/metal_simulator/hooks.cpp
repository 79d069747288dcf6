// The functions that a compiler calls from instrumented code: those of ThreadSanitizer
// (`__tsan_...`) before each access to memory, and those of UndefinedBehaviorSanitizer
// (`__ubsan_...`) for what it finds wrong by itself. Their names and parameters are those
// of the compilers' own libraries, which are not linked.

#include <cstdlib>
#include <cstring>

#include "simulation.h"

using simulator::Kind;
using simulator::place_of;

namespace {

void access(const void* address, std::size_t size, Kind kind, void* return_address) {
    simulator::simulation->checks.access(reinterpret_cast<std::uintptr_t>(address), size,
                                         kind, place_of(return_address));
}

}  // namespace

extern "C" {

#define READ_AND_WRITE(prefix, size)                                            \
    void __tsan_##prefix##read##size(void* address) {                           \
        access(address, size, Kind::read, HERE);                                \
    }                                                                           \
    void __tsan_##prefix##write##size(void* address) {                          \
        access(address, size, Kind::write, HERE);                               \
    }
#define BOTH_ALIGNMENTS(size)     \
    READ_AND_WRITE(, size)        \
    READ_AND_WRITE(unaligned_, size)  // Called by clang only.
READ_AND_WRITE(, 1)
BOTH_ALIGNMENTS(2)
BOTH_ALIGNMENTS(4)
BOTH_ALIGNMENTS(8)
BOTH_ALIGNMENTS(16)

void __tsan_read_range(void* address, std::size_t size) {
    access(address, size, Kind::read, HERE);
}
void __tsan_write_range(void* address, std::size_t size) {
    access(address, size, Kind::write, HERE);
}

void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}

// clang calls these instead of the functions of <string.h>.
void* __tsan_memcpy(void* to, const void* from, std::size_t size) {
    access(from, size, Kind::read, HERE);
    access(to, size, Kind::write, HERE);
    return std::memcpy(to, from, size);
}
void* __tsan_memmove(void* to, const void* from, std::size_t size) {
    access(from, size, Kind::read, HERE);
    access(to, size, Kind::write, HERE);
    return std::memmove(to, from, size);
}
void* __tsan_memset(void* to, int value, std::size_t size) {
    access(to, size, Kind::write, HERE);
    return std::memset(to, value, size);
}

// What a report of UndefinedBehaviorSanitizer is given: only the start of it matters.
struct ArrayType {
    std::uint16_t kind, info;
    char name[1];  // "'float [8]'"
};
struct OutOfBounds {
    const char* file;
    std::uint32_t line, column;
    const ArrayType* array;
};

void __ubsan_handle_out_of_bounds(const OutOfBounds* found, std::intptr_t index) {
    const char* const bracket = std::strchr(found->array->name, '[');
    const auto length = bracket != nullptr ? std::strtoull(bracket + 1, nullptr, 10) : 0;
    simulator::simulation->checks.outside_array(index, length, found->column,
                                                place_of(HERE));
}

void __ubsan_handle_type_mismatch_v1(const void*, std::uintptr_t address) {
    simulator::simulation->checks.misaligned(address, place_of(HERE));
}

}  // extern "C"
