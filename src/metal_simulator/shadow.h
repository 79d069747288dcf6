// What is remembered of each byte of a region, to find races.
//
// Most accesses are to whole words of four bytes, so a word has one cell, until a part of
// it is accessed: from then on each of its bytes has its own, and two threads that write
// two halves of a word are no race.

#pragma once

#include <cstddef>

#include "races.h"
#include "zeros.h"

namespace simulator {

class Shadow {
  public:
    // Threadgroup memory is not seen by other threadgroups, device memory is.
    Shadow(std::size_t size, bool is_seen_by_all);

    // Adds an access to some bytes, and what it is in a race with.
    void add(std::size_t offset, std::size_t size, const Now& now, Kind kind,
             Conflicts& found);

  private:
    // What is known of each word, or of each byte. For threadgroup memory the second
    // array stays untouched, and takes no memory.
    struct Cells {
        explicit Cells(std::size_t length) : histories(length), visitors(length) {}
        Zeros<History> histories;
        Zeros<Visitors> visitors;
    };

    void add_part(std::size_t begin, std::size_t end, const Now& now, Kind kind,
                  Conflicts& found);
    void add_to(Cells& cells, std::size_t at, const Now& now, Kind kind,
                Conflicts& found) const;

    bool is_seen_by_all_;
    bool has_atomics_ = false;
    Cells words_;
    Cells bytes_;
    Zeros<bool> is_split_;          // For each word.
    Zeros<AtomicHistory> atomics_;  // For each word.
};

}  // namespace simulator
