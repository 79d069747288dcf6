/// Kernels that are called by several operations, and take long to compile.
///
/// `extern template` says that a template is compiled elsewhere: in the file of the
/// operation that has its name.
#pragma once

#include "kernels/float_tiles.h"
#include "kernels/matvec_int8.h"

namespace tiny_llm {

extern template void matvec_int8(
    const Int8Activations&, const QuantizedMatrix<float>&, float*, Rows);
extern template void matvec_int8(
    const Int8Activations&, const QuantizedMatrix<Float16>&, float*, Rows);
extern template void matvec_int8(
    const Int8Activations&, const QuantizedMatrix<BFloat16>&, float*, Rows);

namespace tiles {

extern template void multiply_add(Factor<false>, ConstTile, Tile, int, int, int);
extern template void multiply_add(Factor<true>, ConstTile, Tile, int, int, int);

}  // namespace tiles

}  // namespace tiny_llm
