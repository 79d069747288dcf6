/// Attention without a matrix of scores: three rungs of a ladder.
///
///     y[i] = sum over j of p[i, j] * v[j]
///     p[i, j] = e^(s[i, j] - m[i]) / sum over j of e^(s[i, j] - m[i])
///     s[i, j] = scale * (q[i] . k[j]) + mask[i, j]
///
/// m[i] may be any number: it cancels. It is the largest score that has been seen so
/// far, and when a larger one comes, what has been added up is scaled down.
///
/// Shapes and strides are those of `Attention`. The output overlaps no input. Not handled
/// are a query that may look at no key, positions without a key (L > S with a causal
/// mask), and numbers other than floats.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <memory>
#include <vector>

// What is not beside this file is in src/extensions_shared/kernels.
#include "kernels/exponential.h"
#include "kernels/float_tiles.h"
#include "kernels/heads.h"
#include "kernels/threads.h"
#include "kernels/todo.h"

namespace tiny_llm {

/// One key after the other, with a running maximum, for each query by itself.
inline void attention_online(const Attention& a) {
  todo("week 2, day 6, task 1");
}

/// Tiles of keys for blocks of queries, on all cores.
///
/// The heads of a group work on a tile together, so it is read once for all of them.
/// Tiles that no query of a block may look at are skipped.
inline void attention_tiled(const Attention& a) {
  todo("week 2, day 6, task 2");
}

/// Pieces of the keys, on all cores: for few queries that look at many keys.
///
/// Each piece ends with a maximum, a sum of weights, and a sum of weighted values. The
/// pieces of a query are then merged: each is scaled down to the largest maximum.
inline void attention_split(const Attention& a) {
  todo("week 2, day 6, task 3");
}

}  // namespace tiny_llm
