/// Attention to keys and values that lie in pages, for rows of their own length.
///
///     y[i] = sum over j of p[i, j] * v[j]
///     p[i, j] = e^(s[i, j] - m[i]) / sum over j of e^(s[i, j] - m[i])
///     s[i, j] = scale * (q[i] . k[j])
///
/// Key j of a row lies in slot j % P of page table[j / P]. m[i] is the largest score that
/// query i has seen so far, as in attention.h.
///
/// Shapes and strides are those of `PagedAttention`. The output overlaps no input. Slots
/// after the last key of a row, and entries of its table after the last page in use, may
/// hold anything, and are not read. Not handled are rows with fewer keys than queries
/// with a causal mask, other masks, and numbers other than floats.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

// What is not beside this file is in src/extensions_shared/kernels.
#include "kernels/exponential.h"
#include "kernels/float_tiles.h"
#include "kernels/heads.h"
#include "kernels/pages_of_heads.h"
#include "kernels/threads.h"
#include "kernels/todo.h"

namespace tiny_llm {

/// One key after the other, wherever it lies, for each query by itself.
inline void paged_attention_online(const PagedAttention& a) {
  todo("week 3, day 4, task 1");
}

/// Tiles of keys from several pages, for blocks of queries, on all cores.
///
/// The heads of a group work on a tile together, so it is read once for all of them. A
/// long context is cut into more pieces than a short one, so that no core waits for it.
inline void paged_attention_tiled(const PagedAttention& a) {
  todo("week 3, day 4, task 2");
}

}  // namespace tiny_llm
