#include "shadow.h"

#include <algorithm>

namespace simulator {
namespace {

constexpr std::size_t word_size = 4;

constexpr std::size_t num_words(std::size_t size) {
    return (size + word_size - 1) / word_size;
}

}  // namespace

Shadow::Shadow(std::size_t size, bool is_seen_by_all)
    : is_seen_by_all_(is_seen_by_all),
      words_(num_words(size)),
      bytes_(num_words(size) * word_size),
      is_split_(num_words(size)),
      atomics_(num_words(size)) {}

void Shadow::add(std::size_t offset, std::size_t size, const Now& now, Kind kind,
                 Conflicts& found) {
    has_atomics_ = has_atomics_ || is_atomic(kind);
    const std::size_t end = offset + size;
    while (offset < end) {
        const std::size_t word = offset / word_size;
        const std::size_t stop = std::min(end, (word + 1) * word_size);
        if (has_atomics_) atomics_[word].add(now, kind, found);
        if (stop - offset == word_size && !is_split_[word]) {
            add_to(words_, word, now, kind, found);
        } else {
            add_part(offset, stop, now, kind, found);
        }
        offset = stop;
    }
}

// Adds an access to some bytes of one word.
void Shadow::add_part(std::size_t begin, std::size_t end, const Now& now, Kind kind,
                      Conflicts& found) {
    const std::size_t word = begin / word_size;
    if (!is_split_[word]) {
        is_split_[word] = true;
        const std::size_t first = word * word_size;
        std::fill_n(&bytes_.histories[first], word_size, words_.histories[word]);
        if (is_seen_by_all_) {
            std::fill_n(&bytes_.visitors[first], word_size, words_.visitors[word]);
        }
    }
    for (std::size_t at = begin; at < end; ++at) add_to(bytes_, at, now, kind, found);
}

void Shadow::add_to(Cells& cells, std::size_t at, const Now& now, Kind kind,
                    Conflicts& found) const {
    cells.histories[at].add(now, kind, found);
    if (is_seen_by_all_) cells.visitors[at].add(now, kind, found);
}

}  // namespace simulator
