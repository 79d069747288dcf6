/// The kernels of a layer for several texts, compiled apart from who calls them.
#pragma once

#include <vector>

#include "glue/layer_arrays.h"
#include "glue/rotations.h"
#include "kernels/layer_row.h"

namespace tiny_llm::ops {

/// Carry the new tokens of all rows through the layer: x, T x E, into y.
///
/// With `in_pages`, all rows have their pages in one pool. Otherwise each has one page.
void run_rows(
    const LayerArrays& arrays,
    const Rotations& rotations,
    const std::vector<LayerRow>& rows,
    bool in_pages,
    const float* x,
    float* y);

}  // namespace tiny_llm::ops
