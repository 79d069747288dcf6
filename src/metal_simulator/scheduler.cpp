#include "scheduler.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "simulation.h"

namespace simulator {
namespace {

unsigned divided_up(unsigned value, unsigned by) { return (value + by - 1) / by; }

// The n-th position of a box, x running fastest.
Position nth(unsigned n, Position box) {
    return {n % box.x, n / box.x % box.y, n / box.x / box.y};
}

const char* action_of(State state) {
    switch (state) {
        case State::in_exchange: return "exchange";
        case State::at_simdgroup_barrier: return "simdgroup_barrier";
        case State::at_threadgroup_barrier: return "threadgroup_barrier";
        default: return "ended";
    }
}

bool has_left(State state) { return state == State::ended || state == State::stopped; }

}  // namespace

Position Sizes::num_groups() const {
    return {divided_up(grid.x, group.x), divided_up(grid.y, group.y),
            divided_up(grid.z, group.z)};
}

bool Scheduler::run(std::uint64_t seed) {
    random_.seed(seed);
    in_order_ = seed == 0;
    while (fibers_.size() < members_.size()) {
        fibers_.push_back(std::make_unique<Fiber>(body));
    }
    const Position groups = sizes_.num_groups();
    const std::uint64_t number = groups.x * std::uint64_t{groups.y} * groups.z;
    const std::uint64_t step = in_order_ ? 1 : step_for(number);
    for (std::uint64_t n = 0; n < number; ++n) {
        start_group(static_cast<unsigned>(n * step % number));
        run_group();
        if (is_over_) return false;
    }
    return true;
}

// Draws a step that leads through all of so many numbers. There may be too many
// threadgroups to write their order down.
std::uint64_t Scheduler::step_for(std::uint64_t number) {
    std::uint64_t step = 0;
    do {
        step = 1 + random_() % number;
    } while (std::gcd(step, number) != 1);
    return step;
}

void Scheduler::body() {
    for (;;) {
        Scheduler& self = simulation->scheduler;
        self.kernel_(self.buffers.data());
        self.running_->state = State::ended;
        Fiber::pause();
    }
}

void Scheduler::start_group(unsigned group) {
    group_ = group;
    round_ = 0;
    num_waits_ = 0;
    begin_epoch(mem_device | mem_threadgroup);
    for (Region* const variable : simulation->threadgroup_variables) {
        variable->scramble();
    }
    const Position groups = sizes_.num_groups(), at = nth(group, groups);
    const Position start = {at.x * sizes_.group.x, at.y * sizes_.group.y,
                            at.z * sizes_.group.z};
    const Position size = {std::min(sizes_.group.x, sizes_.grid.x - start.x),
                           std::min(sizes_.group.y, sizes_.grid.y - start.y),
                           std::min(sizes_.group.z, sizes_.grid.z - start.z)};
    num_threads_ = size.x * size.y * size.z;
    const unsigned num_simdgroups = divided_up(num_threads_, simdgroup_size);
    for (unsigned n = 0; n < num_threads_; ++n) {
        const Position in = nth(n, size);
        members_[n] = Member{};
        members_[n].thread = {
            {start.x + in.x, start.y + in.y, start.z + in.z}, in, at, size, groups,
            sizes_.grid, n, n % simdgroup_size, n / simdgroup_size, num_simdgroups,
            sizes_.group};
    }
    simdgroups_.resize(num_simdgroups);
    for (unsigned n = 0; n < num_simdgroups; ++n) {
        SimdGroup& one = simdgroups_[n];
        one.begin = n * simdgroup_size;
        one.end = std::min(one.begin + simdgroup_size, num_threads_);
        one.device_epoch = one.threadgroup_epoch = 0;
    }
}

void Scheduler::run_group() {
    do {
        const auto number = static_cast<unsigned>(simdgroups_.size());
        for (const unsigned n : shuffled(0, number)) {
            run_simdgroup(simdgroups_[n]);
            if (is_over_) return;
        }
    } while (!is_ending_ && group_meets());
    is_over_ = is_ending_;
    costs_.add_barriers(round_);
}

void Scheduler::run_simdgroup(SimdGroup& simdgroup) {
    do {
        for (const unsigned index : shuffled(simdgroup.begin, simdgroup.end)) {
            if (members_[index].state == State::ready) resume(index, simdgroup);
            if (is_over_) return;
        }
        if (costs_.is_counting()) costs_.end_of_slice();
    } while (!is_ending_ && simdgroup_meets(simdgroup));
}

void Scheduler::resume(unsigned index, const SimdGroup& simdgroup) {
    running_ = &members_[index];
    const auto now = [&](std::uint32_t epoch, std::uint32_t simdgroup_epoch) {
        Now made{};
        made.access.thread = index & 1023U;
        made.access.round = round_ & 0x3FFFFFU;
        made.access.simdgroup_epoch = simdgroup_epoch;
        made.group = group_;
        made.epoch = epoch;
        return made;
    };
    checks_.running = {&running_->thread,
                       group_,
                       now(device_epoch_, simdgroup.device_epoch),
                       now(threadgroup_epoch_, simdgroup.threadgroup_epoch),
                       is_late_ != 0 ? 1 : Checks::most_accesses};
    ++num_resumed_;
    is_in_thread_ = true;
    fibers_[index]->resume();
    is_in_thread_ = false;
}

void Scheduler::wait(State state, const char* function, Place place,
                     unsigned mem_flags) {
    running_->state = state;
    running_->place = place;
    running_->mem_flags = mem_flags;
    running_->function = function;
    if (is_late_ != 0 || ++num_waits_ > most_waits) checks_.endless(place, action_of(state));
    Fiber::pause();
}

Lanes Scheduler::exchange(const void* value, std::size_t size, const char* function,
                          Place place) {
    running_->value = value;
    running_->value_size = size;
    wait(State::in_exchange, function, place, 0);
    const Thread& thread = running_->thread;
    const SimdGroup& simdgroup = simdgroups_[thread.simdgroup];
    return {simdgroup.values.data(), simdgroup.active, thread.lane};
}

void Scheduler::stop_thread() {
    is_ending_ = true;
    running_->state = State::stopped;
    for (;;) Fiber::pause();
}

void Scheduler::stop_at_once() {
    is_over_ = true;
    for (;;) Fiber::pause();
}

bool Scheduler::is_waiting(const Member& member) { return !has_left(member.state); }

// Tells whether a lane does not keep one waiting that waits for its SIMD group.
bool Scheduler::has_come(const Member& lane, const Member& waiting) {
    switch (waiting.state) {
        case State::at_threadgroup_barrier:  // Who has ended is looked for in the end.
            return has_left(lane.state) || lane.state == waiting.state;
        case State::in_exchange:
            if (has_left(lane.state)) return lane.left_at != 0;
            break;
        default:
            break;
    }
    return lane.state == waiting.state && lane.place == waiting.place;
}

bool Scheduler::overflowed_at(const void* address) const {
    return fibers_[running_->thread.index_in_group]->overflowed_at(address);
}

// Lets the lanes of a SIMD group go on if they have met.
// Returns: whether they go on.
bool Scheduler::simdgroup_meets(SimdGroup& simdgroup) {
    const auto begin = members_.begin() + simdgroup.begin;
    const auto end = members_.begin() + simdgroup.end;
    const auto first = std::find_if(begin, end, is_waiting);
    if (first == end) return false;
    const auto missing = std::find_if(
        begin, end, [&](const Member& one) { return !has_come(one, *first); });
    if (missing != end) {
        diverged(*first, *missing);
        return false;
    }
    if (first->state == State::at_threadgroup_barrier) return false;
    if (first->state == State::in_exchange) exchange_values(simdgroup);
    if (first->mem_flags & mem_device) ++simdgroup.device_epoch;
    if (first->mem_flags & mem_threadgroup) ++simdgroup.threadgroup_epoch;
    release(simdgroup.begin, simdgroup.end);
    return true;
}

void Scheduler::exchange_values(SimdGroup& simdgroup) {
    simdgroup.active = 0;
    for (unsigned n = simdgroup.begin; n < simdgroup.end; ++n) {
        const Member& one = members_[n];
        if (has_left(one.state)) continue;
        const std::size_t size = one.value_size;
        simdgroup.values.resize(simdgroup_size * size);
        std::memcpy(&simdgroup.values[one.thread.lane * size], one.value, size);
        simdgroup.active |= 1U << one.thread.lane;
    }
}

// Lets the threadgroup go on if its threads have met at a barrier.
// Returns: whether they go on.
bool Scheduler::group_meets() {
    const auto begin = members_.begin(), end = begin + num_threads_;
    const auto first = std::find_if(begin, end, is_waiting);
    if (first == end) return false;
    const auto missing = std::find_if(begin, end, [&](const Member& one) {
        return !is_waiting(one) || one.place != first->place;
    });
    if (missing != end) {
        diverged(*first, *missing);
        return false;
    }
    ++round_;
    begin_epoch(first->mem_flags);
    release(0, num_threads_);
    return true;
}

void Scheduler::release(unsigned begin, unsigned end) {
    for (unsigned n = begin; n < end; ++n) {
        if (!has_left(members_[n].state)) members_[n].state = State::ready;
    }
}

void Scheduler::begin_epoch(unsigned mem_flags) {
    if (mem_flags & mem_device) ++device_epoch_;
    if (mem_flags & mem_threadgroup) ++threadgroup_epoch_;
}

// A thread waits where another will never come. If both wait, the one that is further on
// has gone past what the other waits for.
void Scheduler::diverged(const Member& waiting, const Member& missing) {
    is_ending_ = true;
    const bool is_further = is_waiting(missing) && missing.place < waiting.place;
    const Member& present = is_further ? missing : waiting;
    const Member& absent = is_further ? waiting : missing;
    const bool is_simd = present.state == State::in_exchange;
    const char* const kind = is_simd ? "divergent_simd" : "divergent_barrier";
    faults_.add({kind, side_of(present), side_of(absent), {}, present.function});
}

Side Scheduler::side_of(const Member& member) const {
    const Place place = has_left(member.state) ? member.left_at : member.place;
    return {place, group_, member.thread.index_in_group, action_of(member.state)};
}

std::vector<unsigned> Scheduler::shuffled(unsigned begin, unsigned end) {
    std::vector<unsigned> order(end - begin);
    std::iota(order.begin(), order.end(), begin);
    if (!in_order_) std::shuffle(order.begin(), order.end(), random_);
    return order;
}

}  // namespace simulator
