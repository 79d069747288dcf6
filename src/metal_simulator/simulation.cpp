#include "simulation.h"

#include <stdexcept>

namespace simulator {

Simulation* simulation = nullptr;
std::uintptr_t code_begin = 0;

namespace {

// What a kernel may have of threadgroup memory, on all Apple GPUs.
constexpr std::size_t most_threadgroup_memory = 32 << 10;

[[noreturn]] void stop(const char* kind, const std::string& details, Place place) {
    const Side side = simulation->checks.side(place, "");
    simulation->faults.add({kind, side, {}, {}, details});
    simulation->scheduler.stop_thread();
}

}  // namespace

const Thread& current() { return simulation->scheduler.current(); }

void threadgroup_barrier(unsigned mem_flags) {
    simulation->scheduler.wait(State::at_threadgroup_barrier, "threadgroup_barrier",
                               place_of(HERE), mem_flags);
}

void simdgroup_barrier(unsigned mem_flags) {
    simulation->scheduler.wait(State::at_simdgroup_barrier, "simdgroup_barrier",
                               place_of(HERE), mem_flags);
}

Lanes exchange(const void* value, std::size_t size, const char* function) {
    return simulation->scheduler.exchange(value, size, function, place_of(HERE));
}

void leave() { simulation->scheduler.leave(place_of(HERE)); }

void fault(const char* kind, const char* details) { stop(kind, details, place_of(HERE)); }

void* threadgroup_memory(unsigned variable, const char* name, std::size_t size,
                         std::size_t alignment) {
    auto& variables = simulation->threadgroup_variables;
    if (variable >= variables.size()) variables.resize(variable + 1, nullptr);
    Region*& region = variables[variable];
    if (region == nullptr) {
        region = &simulation->arena.add(name, Space::threadgroup, size, alignment);
        region->shadow = std::make_unique<Shadow>(size, false);
        region->scramble();
        std::size_t total = 0;
        for (const Region* one : variables) total += one != nullptr ? one->size : 0;
        if (total > most_threadgroup_memory) {
            stop("too_much_threadgroup_memory", std::to_string(total), place_of(HERE));
        }
    }
    return region->begin;
}

void atomic_access(const volatile void* address, std::size_t size, bool writes) {
    simulation->checks.access(reinterpret_cast<std::uintptr_t>(address), size,
                              writes ? Kind::atomic_write : Kind::atomic_read,
                              place_of(HERE));
}

void atomic_update(const volatile void* address, std::size_t size) {
    simulation->checks.access(reinterpret_cast<std::uintptr_t>(address), size,
                              Kind::atomic_update, place_of(HERE));
}

void count_flops(unsigned adds, unsigned multiplies, unsigned others) {
    simulation->costs.flops.adds += adds;
    simulation->costs.flops.multiplies += multiplies;
    simulation->costs.flops.others += others;
}

}  // namespace simulator
