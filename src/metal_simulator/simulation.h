// The one simulation of this process, which the compiled kernel reaches through plain
// functions: those of runtime.h, and the hooks that the compiler puts into it.

#pragma once

#include "checks.h"
#include "costs.h"
#include "faults.h"
#include "memory.h"
#include "scheduler.h"

namespace simulator {

struct Simulation {
    Simulation(Sizes sizes, Scheduler::Kernel kernel, Fibers& fibers)
        : scheduler(sizes, kernel, checks, faults, costs, fibers) {}

    Arena arena;
    Faults faults;
    Costs costs;
    Checks checks{arena, faults, costs};
    Scheduler scheduler;
    std::vector<Region*> threadgroup_variables;
};

extern Simulation* simulation;

// The address in front of which the kernel was loaded: places count from here.
extern std::uintptr_t code_begin;

inline Place place_of(const void* return_address) {
    // The call is before the address to which it returns.
    return static_cast<Place>(reinterpret_cast<std::uintptr_t>(return_address) - 1 -
                              code_begin);
}

}  // namespace simulator

// The return address of a function that the kernel calls.
#define HERE __builtin_return_address(0)
