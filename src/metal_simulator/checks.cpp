#include "checks.h"

#include <algorithm>

#include "simulation.h"

namespace simulator {
namespace {

const char* name_of(Kind kind) {
    switch (kind) {
        case Kind::read: return "read";
        case Kind::write: return "write";
        case Kind::atomic_read: return "atomic_read";
        case Kind::atomic_write: return "atomic_write";
        case Kind::atomic_update: return "atomic_update";
    }
    return "";
}

Target target_of(const Region& region, std::uintptr_t address) {
    return {name_of(region.space), region.name, region.index_of(address),
            region.num_elements()};
}

// The number of a thread in the grid, x running fastest.
std::int64_t number_in_grid(const Thread& thread) {
    const auto [x, y, z] = thread.in_grid;
    const std::int64_t plane = z * std::int64_t{thread.grid_size.y} + y;
    return plane * thread.grid_size.x + x;
}

}  // namespace

Side Checks::side(Place place, const char* action) const {
    return {place, running.group, running.thread->index_in_group, action};
}

void Checks::access(Region& region, std::uintptr_t address, std::size_t size, Kind kind,
                    Place place) {
    const std::size_t offset = address - reinterpret_cast<std::uintptr_t>(region.begin);
    if (offset >= region.size || region.size - offset < size) {
        outside(region, address, size, kind, place);
    }
    if (region.space != Space::threadgroup) {
        Numbers& known = numbers_[place];
        known.last_inside = std::max(known.last_inside, number_in_grid(*running.thread));
    }
    if (--running.accesses_left == 0) endless(place, name_of(kind));
    if (costs_.is_counting() && region.space != Space::constant) {
        costs_.add_access(place, running.thread->lane, address, size, region.space,
                          is_write(kind));
    }
    if (region.shadow) {
        find_races(region, address, size, kind, place);
        if (is_read(kind) && !region.is_initialised(offset, size)) {
            uninitialised(region, address, place);
        }
        if (is_write(kind)) region.initialise(offset, size);
    } else if (is_write(kind)) {
        stop("write_to_constant", region, address, side(place, name_of(kind)));
    }
}

void Checks::find_races(Region& region, std::uintptr_t address, std::size_t size,
                        Kind kind, Place place) {
    const bool is_shared = region.space == Space::threadgroup;
    Now& now = is_shared ? running.in_threadgroup : running.in_device;
    now.access.place = place;
    const std::size_t offset = address - reinterpret_cast<std::uintptr_t>(region.begin);
    region.shadow->add(offset, size, now, kind, found_);
    for (const Conflict& one : found_) {
        const Side other{one.place, one.group, one.thread, name_of(one.kind)};
        faults_.add({"race", side(place, name_of(kind)), other,
                     target_of(region, address),
                     one.is_behind_barrier ? "behind_barrier" : ""});
    }
    found_.clear();
}

// Notes a read of what nobody has written yet. If another thread writes it without a
// barrier between, this is a race, whichever of them runs first, and will be known later.
void Checks::uninitialised(const Region& region, std::uintptr_t address, Place place) {
    const auto is_same = [&](const Uninitialised& one) {
        return one.fault.side->place == place;
    };
    if (std::any_of(uninitialised_.begin(), uninitialised_.end(), is_same)) return;
    const Fault fault{"uninitialised_read", side(place, "read"), {},
                      target_of(region, address), ""};
    uninitialised_.push_back({fault, faults_.number()});
}

void Checks::report_uninitialised() {
    for (auto one = uninitialised_.rbegin(); one != uninitialised_.rend(); ++one) {
        const Place place = one->fault.side->place;
        const bool is_race = faults_.move_race(place, one->num_before);
        if (!is_race) faults_.add(one->fault, faults_.behind_divergence(one->num_before));
    }
}

void Checks::report_unwritten() {
    for (const auto& region : arena_.regions()) {
        const auto& bytes = region->initialised;
        if (region->space != Space::device || bytes.empty()) continue;
        const auto num_missing = std::count(bytes.begin(), bytes.end(), 0);
        if (num_missing == 0) continue;
        const auto first = std::find(bytes.begin(), bytes.end(), 0) - bytes.begin();
        const auto width = static_cast<std::ptrdiff_t>(region->element_size);
        faults_.add({"unwritten_output", {}, {},
                     Target{name_of(region->space), region->name, first / width,
                            region->num_elements()},
                     std::to_string((num_missing + width - 1) / width)});
    }
}

// Ends the thread before it touches what is not there.
void Checks::outside(const Region& region, std::uintptr_t address, std::size_t size,
                     Kind kind, Place place) {
    const std::int64_t index = region.index_of(address);
    const bool is_late = index >= 0;
    if (region.space != Space::threadgroup) {
        Numbers& known = numbers_[place];
        // Whoever goes to another place than its own number has another mistake.
        const std::int64_t number = number_in_grid(*running.thread);
        const auto width = static_cast<std::int64_t>(size / region.element_size);
        const bool is_own = index == number * width;
        known.first_outside = std::min(known.first_outside, is_own ? number : -1);
        known.num_elements = static_cast<std::int64_t>(region.num_elements());
    }
    const auto end = reinterpret_cast<std::uintptr_t>(region.begin) + region.size;
    const bool starts_inside = is_late && address < end;  // A vector may.
    stop(is_write(kind) ? "out_of_bounds_write" : "out_of_bounds_read", region,
         starts_inside ? end : address, side(place, name_of(kind)));
}

void Checks::report_beyond() {
    for (const auto& [place, known] : numbers_) {
        const auto [last, first, num_elements] = known;
        const bool is_outside = num_elements > 0;
        if (is_outside && first >= num_elements && first > last) {
            faults_.rename_access(place, "thread_beyond_array");
        }
    }
}

void Checks::outside_array(std::int64_t index, std::uint64_t num_elements,
                           unsigned column, Place place) {
    faults_.add({"out_of_bounds_read", side(place, "index"), {},
                 Target{"thread", "", index, num_elements}, std::to_string(column)});
    simulation->scheduler.stop_thread();
}

void Checks::endless(Place place, const char* action) {
    faults_.add({"endless", side(place, action), {}, {}, ""});
    simulation->scheduler.stop_at_once();
}

void Checks::misaligned(std::uintptr_t address, Place place) {
    const Region* const region = arena_.find(address);
    if (region != nullptr) stop("misaligned", *region, address, side(place, "access"));
}

void Checks::stop(const char* kind, const Region& region, std::uintptr_t address,
                  const Side& side) {
    faults_.add({kind, side, {}, target_of(region, address), ""});
    simulation->scheduler.stop_thread();
}

}  // namespace simulator
