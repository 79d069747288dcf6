// What is wrong with a kernel: which mistake, by whom, where. The sentences for it are
// made elsewhere, in the language of the reader.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace simulator {

// A place in the kernel's machine code, in bytes from its start. 0 is nowhere.
using Place = std::uint32_t;

// One thread's part in a fault. Groups and threads are numbered with x running fastest.
struct Side {
    Place place = 0;
    unsigned group = 0;
    unsigned thread = 0;
    std::string action;  // "read", "write", "atomic read", "ended", ...
};

// What was accessed: an element of a buffer, or of an array in threadgroup memory.
struct Target {
    std::string space;
    std::string buffer;
    std::int64_t index = 0;
    std::uint64_t num_elements = 0;
};

struct Fault {
    std::string kind;
    std::optional<Side> side;
    std::optional<Side> other;
    std::optional<Target> target;
    std::string details;
};

// The faults of a run, in the order in which they were found.
class Faults {
  public:
    // A kernel with a mistake in its addresses makes it everywhere.
    static constexpr std::size_t most = 16;

    // Notes a fault, unless one of its kind is known in the same places.
    // position: how many stay ahead of it, all if nothing is said.
    void add(const Fault& fault, std::size_t position = most);

    // Puts a race in a place ahead of all but some.
    // Returns: whether there is one.
    bool move_race(Place place, std::size_t position);

    // Calls the out-of-bounds access in a place by another name.
    void rename_access(Place place, const char* kind);

    // Returns a position that is not ahead of threads that did not wait for each other:
    // some were early, and what they read was not written yet.
    std::size_t behind_divergence(std::size_t position) const;

    std::size_t number() const { return found_.size(); }

    // All faults, one a line, as JSON.
    std::string json() const;

  private:
    std::vector<Fault> found_;
    std::set<std::tuple<std::string, Place, Place>> known_;
};

}  // namespace simulator
