// Compares the histories that are kept for each byte with one that forgets nothing.
//
// Random threads make random accesses to a few bytes, with random barriers between. Up to
// the first race, and at it, both must agree: no race is missed, and none is made up.
// What is remembered after a race may differ, so each trial ends there.

#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "shadow.h"

namespace {

using namespace simulator;

constexpr unsigned num_bytes = 8;
constexpr unsigned most_simdgroups = 3;

struct Past {
    Now now;
    Kind kind;
    std::size_t offset, size;
};

bool is_race(const Past& one, const Past& other, bool is_seen_by_all) {
    const bool overlap = one.offset < other.offset + other.size &&
                         other.offset < one.offset + one.size;
    if (!overlap || !conflict(one.kind, other.kind)) return false;
    if (one.now.group != other.now.group) return is_seen_by_all;
    const Access &here = one.now.access, &there = other.now.access;
    if (here.thread == there.thread || one.now.epoch != other.now.epoch) return false;
    return here.simdgroup() != there.simdgroup() ||
           here.simdgroup_epoch == there.simdgroup_epoch;
}

class Trial {
  public:
    explicit Trial(unsigned seed) : random_(seed), is_seen_by_all_(draw(2) == 0), rarity_(2 + draw(40)),
          num_simdgroups_(1 + draw(most_simdgroups)) {}

    // Returns false where the two do not agree.
    bool run() {
        for (int step = 0; step < 200; ++step) {
            move_time();
            const Past now = drawn();
            std::vector<const Past*> expected;
            for (const Past& one : past_) {
                if (is_race(one, now, is_seen_by_all_)) expected.push_back(&one);
            }
            Conflicts found;
            shadow_.add(now.offset, now.size, now.now, now.kind, found);
            if (found.empty() != expected.empty()) return false;
            for (const Conflict& one : found) {
                if (!is_among(one, expected)) return false;
            }
            if (!found.empty()) return true;
            past_.push_back(now);
        }
        return true;
    }

  private:
    unsigned draw(unsigned below) { return static_cast<unsigned>(random_()) % below; }

    // Mostly nothing, sometimes a barrier or the next threadgroup.
    void move_time() {
        const unsigned what = draw(12);
        if (what == 0) ++epoch_;
        if (what <= 3) ++simdgroup_epochs_[draw(num_simdgroups_)];
        if (what == 4 && draw(4) == 0) ++group_, ++epoch_;
    }

    // Few threads and bytes, so that many accesses meet. Rarely a write: races end a trial.
    Past drawn() {
        static constexpr Kind rare[] = {Kind::write, Kind::atomic_write};
        static constexpr Kind common[] = {Kind::read, Kind::atomic_read,
                                          Kind::atomic_update};
        Past made{};
        const unsigned thread = draw(num_simdgroups_) * simdgroup_size + draw(3);
        made.now.access.place = ++place_;
        made.now.access.thread = thread & 1023U;
        made.now.access.simdgroup_epoch = simdgroup_epochs_[thread / simdgroup_size];
        made.now.group = group_;
        made.now.epoch = epoch_;
        made.kind = draw(rarity_) == 0 ? rare[draw(2)] : common[draw(3)];
        const unsigned size = is_atomic(made.kind) ? 4U : 1U << draw(4);
        made.size = size;
        made.offset = draw(num_bytes / size) * size;
        return made;
    }

    static bool is_among(const Conflict& found, const std::vector<const Past*>& all) {
        for (const Past* one : all) {
            if (one->now.access.place == found.place && one->kind == found.kind &&
                one->now.group == found.group &&
                one->now.access.thread == found.thread) {
                return true;
            }
        }
        return false;
    }

    std::mt19937 random_;
    bool is_seen_by_all_;
    unsigned rarity_;  // Of writes.
    unsigned num_simdgroups_;
    Shadow shadow_{num_bytes, is_seen_by_all_};
    std::vector<Past> past_;
    std::uint32_t epoch_ = 1, group_ = 0, place_ = 0;
    std::uint32_t simdgroup_epochs_[most_simdgroups] = {};
};

}  // namespace

int main(int argc, char** argv) {
    const unsigned num_trials = argc > 1 ? static_cast<unsigned>(std::atoi(argv[1])) : 0;
    for (unsigned seed = 0; seed < num_trials; ++seed) {
        if (!Trial(seed).run()) {
            std::printf("trial %u: the two do not agree\n", seed);
            return 1;
        }
    }
    std::printf("%u trials\n", num_trials);
    return 0;
}
