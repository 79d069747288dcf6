// What the language header asks of the simulator: who the running thread is, and how it
// meets the others.
//
// A compiled kernel is a shared library that is loaded by the simulator, which defines
// all that is declared here. Each function takes its return address for the place in the
// kernel's source, so the functions of the language that call these are always inlined.

#pragma once

#include <cstddef>
#include <cstdint>

namespace simulator {

inline constexpr unsigned simdgroup_size = 32;

// The bits of `mem_flags`.
inline constexpr unsigned mem_device = 1;
inline constexpr unsigned mem_threadgroup = 2;

struct Position {
    unsigned x, y, z;
};

// What the arguments of a kernel are made of. The sizes are in threads; a threadgroup at
// the end of the grid may be smaller than the one that was asked for.
struct Thread {
    Position in_grid, in_group, group, group_size, groups, grid_size;
    unsigned index_in_group, lane, simdgroup, num_simdgroups;
    Position dispatched_group_size;
};

const Thread& current();

// Waits for all threads of the threadgroup, or of the SIMD group. Accesses to the memory
// that the flags name are ordered by it, others are not.
void threadgroup_barrier(unsigned mem_flags);
void simdgroup_barrier(unsigned mem_flags);

// What the lanes of a SIMD group have brought: `size` bytes for each of the 32.
struct Lanes {
    const std::byte* values;
    std::uint32_t active;  // One bit for each lane that came.
    unsigned lane;         // That of the running thread.
};

// Waits for all lanes that have not ended. What it returns is there until the next call.
Lanes exchange(const void* value, std::size_t size, const char* function);

// Stands in each `return` of a kernel's body. A lane that has returned is inactive, and
// SIMD functions go on without it; one that has gone past a SIMD function has not come.
void leave();

// Ends the run with a fault of this kind.
[[noreturn]] void fault(const char* kind, const char* details);

// Returns the variable of the running threadgroup, which all its threads share.
void* threadgroup_memory(unsigned variable, const char* name, std::size_t size,
                         std::size_t alignment);

// One of them stands before each atomic operation, which itself is not instrumented: a
// load or a store, or what writes something made of what it reads.
void atomic_access(const volatile void* address, std::size_t size, bool writes);
void atomic_update(const volatile void* address, std::size_t size);

void count_flops(unsigned adds, unsigned multiplies, unsigned others);

}  // namespace simulator
