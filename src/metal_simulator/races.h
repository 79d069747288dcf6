// Data races: two accesses to the same bytes by two threads, at least one of them a write
// and not both atomic, that nothing orders. Metal leaves undefined what they do.
//
// What orders two accesses? In one threadgroup, a threadgroup barrier between them whose
// flags name the memory. In one SIMD group, such a simdgroup barrier does, too. Between
// threadgroups, nothing. Atomic operations order nothing: in Metal all are relaxed. So
// time is counted in epochs, for each kind of memory: a threadgroup barrier that names it
// begins a new one for the whole threadgroup, a simdgroup barrier one for its SIMD group.
// Whether a race is found does not depend on which of the threads happens to run first.
//
// How much must be remembered of a cell of memory, so that no race is missed?
//
// - Writes: the last one. As long as there is no race, each write is ordered after all
//   accesses before it; what is ordered after the last write is ordered after those.
//   (That is the argument of FastTrack: Flanagan and Freund 2009.)
// - Reads since then, of this epoch: at most three, see `Witnesses`.
// - Atomic operations: in the same way as reads, since they do not race with each other.
// - Accesses by earlier threadgroups: the first of each kind, see `Visitors`.

#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "faults.h"
#include "runtime.h"

namespace simulator {

// An atomic update writes what it makes of what it reads.
enum class Kind : std::uint8_t { read, write, atomic_read, atomic_write, atomic_update };

constexpr bool is_read(Kind kind) {
    return kind != Kind::write && kind != Kind::atomic_write;
}
constexpr bool is_write(Kind kind) {
    return kind != Kind::read && kind != Kind::atomic_read;
}
constexpr bool is_atomic(Kind kind) {
    return kind != Kind::read && kind != Kind::write;
}
constexpr bool conflict(Kind one, Kind other) {
    return (is_write(one) || is_write(other)) && !(is_atomic(one) && is_atomic(other));
}

// An access by a thread of the running threadgroup.
struct Access {
    Place place = 0;  // 0: there is none.
    std::uint32_t thread : 10 = 0;
    std::uint32_t round : 22 = 0;         // Threadgroup barriers so far, with any flags.
    std::uint32_t simdgroup_epoch = 0;

    std::uint32_t simdgroup() const { return thread / simdgroup_size; }
};

// The access that is about to happen.
struct Now {
    Access access;
    std::uint32_t group = 0;
    std::uint32_t epoch = 0;  // Never repeats, not even in another threadgroup.
};

// An earlier access that the one of now is in a race with.
struct Conflict {
    Kind kind;
    Place place;
    std::uint32_t group;
    std::uint32_t thread;
    bool is_behind_barrier;  // One whose flags do not name this memory.
};
using Conflicts = std::vector<Conflict>;

// Up to three accesses of one kind and epoch, which are enough: if any access of this
// kind is unordered with a later one, one of these three is.
//
// `same` are of one SIMD group: two of its threads, in its latest epoch. `other` is of
// another SIMD group. Let some access be unordered with a later one, by thread t of SIMD
// group s. If s is not the group of `same`, `same[0]` is unordered with it. If it is and
// there is an `other`, that one is. If there is none, all accesses are of s, so the
// unordered one is by another thread than t, in the latest epoch of s: `same` holds two
// threads of that epoch if there are two, and one of them is not t.
class Witnesses {
  public:
    void add(const Access& access);
    const Access* unordered_with(const Access& now) const;

  private:
    std::array<Access, 2> same_;
    Access other_;
};

// What is known of a cell in the running epoch of the running threadgroup.
class History {
  public:
    // Adds an access, and what it is in a race with.
    void add(const Now& now, Kind kind, Conflicts& found);

  private:
    std::uint32_t epoch_ = 0;
    Access write_;
    Witnesses reads_;
};

// The same for the atomic operations on a cell, which few cells see.
class AtomicHistory {
  public:
    void add(const Now& now, Kind kind, Conflicts& found);

  private:
    std::uint32_t epoch_ = 0;
    std::array<Witnesses, 3> witnesses_;  // For each kind of them.
};

// The first access of each kind by a threadgroup. Threadgroups run one after the other,
// so that if there is one of an earlier threadgroup, the first is.
class Visitors {
  public:
    void add(const Now& now, Kind kind, Conflicts& found);

  private:
    struct Visit {
        Place place = 0;
        std::uint32_t group = 0;
        std::uint32_t thread = 0;
    };
    std::array<Visit, 5> first_;  // For each kind.
};

}  // namespace simulator
