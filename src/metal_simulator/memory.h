// The memory that threads of a kernel share: buffers and threadgroup variables.
//
// Each is a region in a slot of its own. Slots are so wide that an index which is wrong
// by any 32-bit number, even of 16-byte elements, stays in the slot: whatever address is
// accessed, it is known which region was meant. Only the regions take real memory.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "shadow.h"

namespace simulator {

enum class Space { device, constant, threadgroup };

const char* name_of(Space space);

struct Region {
    std::string name;
    Space space;
    std::size_t element_size;
    std::byte* begin;
    std::size_t size;
    // One for each byte that holds a value. Empty where all of them do.
    std::vector<std::uint8_t> initialised;
    // What has been accessed by whom. None where nobody may write.
    std::unique_ptr<Shadow> shadow;

    std::int64_t index_of(std::uintptr_t address) const;
    std::uint64_t num_elements() const { return size / element_size; }
    bool is_initialised(std::size_t offset, std::size_t num_bytes) const;
    void initialise(std::size_t offset, std::size_t num_bytes);
    // Forgets all values: what is read now is not a number.
    void scramble();
};

class Arena {
  public:
    Arena();
    ~Arena();
    Arena(const Arena&) = delete;
    Arena& operator=(const Arena&) = delete;

    // Adds a region of zeros. References stay good.
    Region& add(const std::string& name, Space space, std::size_t size,
                std::size_t element_size);

    // Returns the region in whose slot an address lies, or nothing.
    Region* find(std::uintptr_t address) {
        const std::size_t slot = (address - begin_) >> slot_bits;
        return slot < regions_.size() ? regions_[slot].get() : nullptr;
    }

    const std::vector<std::unique_ptr<Region>>& regions() const { return regions_; }

  private:
    static constexpr std::size_t slot_bits = 37;  // 128 GB
    static constexpr std::size_t num_slots = 128;
    static constexpr std::size_t room_below = std::size_t{24} << 30;

    std::uintptr_t begin_;
    std::vector<std::unique_ptr<Region>> regions_;
};

}  // namespace simulator
