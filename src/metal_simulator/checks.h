// All that is checked of one access to memory, just before it happens.

#pragma once

#include <cstdint>
#include <limits>
#include <unordered_map>

#include "costs.h"
#include "faults.h"
#include "memory.h"
#include "races.h"
#include "runtime.h"

namespace simulator {

// The running thread, as the checks see it. The scheduler keeps it.
struct Running {
    const Thread* thread = nullptr;
    unsigned group = 0;
    Now in_device, in_threadgroup;  // All but the place.
    std::uint64_t accesses_left = 0;
};

class Checks {
  public:
    // An endless loop is ended after so many accesses without a barrier.
    static constexpr std::uint64_t most_accesses = 20'000'000;

    Checks(Arena& arena, Faults& faults, Costs& costs)
        : arena_(arena), faults_(faults), costs_(costs) {}

    Running running;

    // Checks an access. If it must not happen, the run ends and this never returns.
    void access(std::uintptr_t address, std::size_t size, Kind kind, Place place) {
        Region* const region = arena_.find(address);
        if (region != nullptr) access(*region, address, size, kind, place);
    }

    // A thread has had its time, or its number of accesses.
    [[noreturn]] void endless(Place place, const char* action);

    // Checks a pointer that the compiler has found to be aligned to less than it needs.
    void misaligned(std::uintptr_t address, Place place);

    // An index is outside an array whose size the compiler knows. The column is that
    // of the source.
    void outside_array(std::int64_t index, std::uint64_t num_elements, unsigned column,
                       Place place);

    // Says of an access outside a buffer whether its cause is the number of threads.
    void report_beyond();

    // Reports what was read before anybody wrote it, or the race that explains that,
    // ahead of what has followed from it.
    void report_uninitialised();

    // Reports outputs of which some elements were never written.
    void report_unwritten();

    // Returns the part of the running thread in a fault.
    Side side(Place place, const char* action) const;

  private:
    void access(Region& region, std::uintptr_t address, std::size_t size, Kind kind,
                Place place);
    void find_races(Region& region, std::uintptr_t address, std::size_t size, Kind kind,
                    Place place);
    void uninitialised(const Region& region, std::uintptr_t address, Place place);
    [[noreturn]] void outside(const Region& region, std::uintptr_t address,
                              std::size_t size, Kind kind, Place place);
    [[noreturn]] void stop(const char* kind, const Region& region,
                           std::uintptr_t address, const Side& side);

    Arena& arena_;
    Faults& faults_;
    Costs& costs_;
    Conflicts found_;
    struct Uninitialised {
        Fault fault;
        std::size_t num_before;  // Faults that were known then.
    };
    std::vector<Uninitialised> uninitialised_;

    // The numbers in the grid of those that access a buffer in one place.
    struct Numbers {
        std::int64_t last_inside = -1;
        std::int64_t first_outside = std::numeric_limits<std::int64_t>::max();
        std::int64_t num_elements = 0;
    };
    std::unordered_map<Place, Numbers> numbers_;
};

}  // namespace simulator
