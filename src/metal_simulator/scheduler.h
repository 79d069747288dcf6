// Runs the threads of a kernel: threadgroup after threadgroup, SIMD group after SIMD
// group, lane after lane, each until it ends or must wait for others.
//
// Which comes first is drawn by a seed (seed 0: in order). More interleaving is not
// needed to find races, see races.h. When no lane of a SIMD group can go on, they have
// met or they never will: the SIMD group is let go on, or has a fault. When no SIMD group
// can go on, the same holds for the threadgroup.

#pragma once

#include <csignal>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "checks.h"
#include "fibers.h"
#include "runtime.h"

namespace simulator {

enum class State : std::uint8_t {
    ready, in_exchange, at_simdgroup_barrier, at_threadgroup_barrier, ended, stopped
};

// The sizes of a grid and of its threadgroups, in threads.
struct Sizes {
    Position grid, group;

    Position num_groups() const;
    unsigned num_threads_of_group() const { return group.x * group.y * group.z; }
};

class Scheduler {
  public:
    using Kernel = void (*)(void* const* buffers);

    // The fibers serve one run after the other, as long as all threads end.
    Scheduler(Sizes sizes, Kernel kernel, Checks& checks, Faults& faults, Costs& costs,
              Fibers& fibers)
        : sizes_(sizes), kernel_(kernel), checks_(checks), faults_(faults),
          costs_(costs), fibers_(fibers), members_(sizes.num_threads_of_group()) {}

    // A threadgroup whose threads wait more often is taken for endless.
    static constexpr std::uint64_t most_waits = 20'000'000;

    // What the kernel is called with, in the order of its parameters.
    std::vector<void*> buffers;

    // Runs all threadgroups, or until a fault ends the run.
    // Returns: whether all have ended.
    bool run(std::uint64_t seed);

    const Thread& current() const { return running_->thread; }

    // Called in the running thread: waits until the others have come as well.
    void wait(State state, const char* function, Place place, unsigned mem_flags);
    Lanes exchange(const void* value, std::size_t size, const char* function,
                   Place place);

    void leave(Place place) { running_->left_at = place; }

    // Called in the running thread: it does not go on. The run ends when those that can
    // still run have done so, since they may show the cause; or at once.
    [[noreturn]] void stop_thread();
    [[noreturn]] void stop_at_once();

    // Called by a signal.
    bool is_in_thread() const { return is_in_thread_; }
    bool overflowed_at(const void* address) const;
    void hurry() {
        is_late_ = 1;
        checks_.running.accesses_left = 1;
    }
    // Grows with each access and each thread that goes on.
    std::uint64_t num_steps() const {
        return num_resumed_ * Checks::most_accesses - checks_.running.accesses_left;
    }

  private:
    // One thread of the running threadgroup, and what it waits for.
    struct Member {
        Thread thread{};
        State state = State::ready;
        Place place = 0;    // Where it waits.
        Place left_at = 0;  // Where it returned.
        unsigned mem_flags = 0;
        const void* value = nullptr;
        std::size_t value_size = 0;
        const char* function = "";  // That it waits in.
    };
    struct SimdGroup {
        unsigned begin = 0, end = 0;  // Its threads.
        std::uint32_t device_epoch = 0, threadgroup_epoch = 0;
        std::uint32_t active = 0;
        std::vector<std::byte> values;  // Of the last exchange.
    };

    static void body();
    static bool is_waiting(const Member& member);
    static bool has_come(const Member& lane, const Member& waiting);
    void run_group();
    void start_group(unsigned group);
    void run_simdgroup(SimdGroup& simdgroup);
    void resume(unsigned index, const SimdGroup& simdgroup);
    bool simdgroup_meets(SimdGroup& simdgroup);
    void exchange_values(SimdGroup& simdgroup);
    bool group_meets();
    void release(unsigned begin, unsigned end);
    void begin_epoch(unsigned mem_flags);
    void diverged(const Member& waiting, const Member& missing);
    Side side_of(const Member& member) const;
    std::vector<unsigned> shuffled(unsigned begin, unsigned end);
    std::uint64_t step_for(std::uint64_t number);

    Sizes sizes_;
    Kernel kernel_;
    Checks& checks_;
    Faults& faults_;
    Costs& costs_;
    Fibers& fibers_;
    std::mt19937_64 random_;
    bool in_order_ = true;
    bool is_ending_ = false;   // A thread has stopped, the others run on until they wait.
    bool is_over_ = false;
    volatile std::sig_atomic_t is_late_ = 0;
    bool is_in_thread_ = false;
    unsigned group_ = 0;
    std::uint32_t device_epoch_ = 0, threadgroup_epoch_ = 0, round_ = 0;
    std::uint64_t num_waits_ = 0;  // Of the running threadgroup.
    std::uint64_t num_resumed_ = 0;
    unsigned num_threads_ = 0;     // Of the running threadgroup.
    std::vector<Member> members_;
    std::vector<SimdGroup> simdgroups_;
    Member* running_ = nullptr;
};

}  // namespace simulator
