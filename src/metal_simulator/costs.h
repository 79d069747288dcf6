// What a kernel costs, counted: bytes, lines of memory, bank conflicts, barriers, flops.
//
// A GPU executes an instruction for the 32 lanes of a SIMD group at once, and memory
// answers in lines of 128 bytes: 32 neighbouring floats are one line, 32 floats that lie
// a row apart are 32. So the n-th execution of an instruction by each lane, since they
// last met, counts as one, and the lines are counted that it touches, beside the fewest
// lines that could hold what it asks for. Threadgroup memory has 32 banks of 4 bytes,
// each of which gives one word at a time: what counts there is how many words the
// busiest bank must give.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "faults.h"
#include "memory.h"
#include "runtime.h"

namespace simulator {

struct Flops {
    std::uint64_t adds = 0, multiplies = 0, others = 0;
};

// What one instruction has cost.
struct Traffic {
    std::uint64_t bytes = 0;       // That the lanes have asked for.
    std::uint64_t executions = 0;  // By SIMD groups.
    // Lines of device memory, or turns of threadgroup memory: taken, and the fewest.
    std::uint64_t steps = 0, fewest_steps = 0;
};

class Costs {
  public:
    // Nothing is counted until this is called.
    void begin() { is_counting_ = true; }
    bool is_counting() const { return is_counting_; }

    void add_access(Place place, unsigned lane, std::uintptr_t address,
                    std::size_t size, Space space, bool writes) {
        Instruction& one = instruction(place);
        one.size = size;
        one.space = space;
        one.writes = writes;
        one.addresses[lane].push_back(address);
    }

    // The lanes of a SIMD group have met, or ended: their executions are put together.
    void end_of_slice();

    void add_barriers(std::uint64_t number) { num_barriers_ += number; }

    Flops flops;

    // One line for each instruction, and one for the rest, as JSON.
    std::string json() const;

  private:
    struct Instruction {
        Place place;
        std::size_t size = 0;
        Space space = Space::device;
        bool writes = false;
        std::array<std::vector<std::uintptr_t>, simdgroup_size> addresses;
        Traffic traffic;
    };

    Instruction& instruction(Place place) {
        Instruction*& recent = recent_[place % recent_.size()];
        if (recent == nullptr || recent->place != place) recent = &find(place);
        return *recent;
    }
    Instruction& find(Place place);
    static void settle(Instruction& one);

    bool is_counting_ = false;
    std::unordered_map<Place, std::unique_ptr<Instruction>> instructions_;
    std::array<Instruction*, 1024> recent_{};
    std::uint64_t num_barriers_ = 0;
};

}  // namespace simulator
