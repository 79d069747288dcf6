#include "glue/run_rows.h"

#include "glue/compiled.h"
#include "glue/layer_weights.h"
#include "glue/paged.h"
#include "kernels/layer_rows.h"

namespace tiny_llm::ops {

void run_rows(
    const LayerArrays& arrays,
    const Rotations& rotations,
    const std::vector<LayerRow>& rows,
    bool in_pages,
    const float* x,
    float* y) {
  const AttendPages attend = in_pages ? attend_to_pages : nullptr;
  with_scale_type(arrays.matrices[0].scales.dtype(), [&]<class Scale>(Scale) {
    run_layer_rows(weights_of<Scale>(arrays, rotations), rows, attend, x, y);
  });
}

}  // namespace tiny_llm::ops
