#include "races.h"

namespace simulator {
namespace {

constexpr std::array atomic_kinds = {Kind::atomic_read, Kind::atomic_write,
                                     Kind::atomic_update};

// Tells whether nothing orders two accesses of one threadgroup and epoch.
bool are_unordered(const Access& earlier, const Access& now) {
    return earlier.place != 0 && earlier.thread != now.thread &&
           (earlier.simdgroup() != now.simdgroup() ||
            earlier.simdgroup_epoch == now.simdgroup_epoch);
}

void note(const Access* earlier, Kind kind, const Now& now, Conflicts& found) {
    if (earlier == nullptr) return;
    found.push_back({kind, earlier->place, now.group, earlier->thread,
                     earlier->round != now.access.round});
}

}  // namespace

void Witnesses::add(const Access& access) {
    auto& [first, second] = same_;
    if (first.place == 0) {
        first = access;
    } else if (first.simdgroup() != access.simdgroup()) {
        if (other_.place == 0) other_ = access;
    } else if (first.simdgroup_epoch != access.simdgroup_epoch) {
        first = access;
        second = {};
    } else if (first.thread != access.thread && second.place == 0) {
        second = access;
    }
}

const Access* Witnesses::unordered_with(const Access& now) const {
    for (const Access* one : {&same_[0], &same_[1], &other_}) {
        if (are_unordered(*one, now)) return one;
    }
    return nullptr;
}

void History::add(const Now& now, Kind kind, Conflicts& found) {
    if (epoch_ != now.epoch) *this = History{};
    epoch_ = now.epoch;
    if (conflict(kind, Kind::write) && are_unordered(write_, now.access)) {
        note(&write_, Kind::write, now, found);
    }
    if (conflict(kind, Kind::read)) {
        note(reads_.unordered_with(now.access), Kind::read, now, found);
    }
    if (kind == Kind::write) {
        write_ = now.access;
        reads_ = {};
    } else if (kind == Kind::read) {
        reads_.add(now.access);
    }
}

void AtomicHistory::add(const Now& now, Kind kind, Conflicts& found) {
    if (epoch_ != now.epoch) *this = AtomicHistory{};
    epoch_ = now.epoch;
    for (std::size_t n = 0; n < witnesses_.size(); ++n) {
        const Kind earlier = atomic_kinds[n];
        if (conflict(kind, earlier)) {
            note(witnesses_[n].unordered_with(now.access), earlier, now, found);
        }
        if (kind == earlier) witnesses_[n].add(now.access);
    }
}

void Visitors::add(const Now& now, Kind kind, Conflicts& found) {
    for (std::size_t n = 0; n < first_.size(); ++n) {
        const auto earlier = static_cast<Kind>(n);
        const Visit& visit = first_[n];
        if (visit.place != 0 && visit.group != now.group && conflict(kind, earlier)) {
            found.push_back({earlier, visit.place, visit.group, visit.thread, false});
        }
    }
    Visit& own = first_[static_cast<std::size_t>(kind)];
    if (own.place == 0) own = {now.access.place, now.group, now.access.thread};
}

}  // namespace simulator
