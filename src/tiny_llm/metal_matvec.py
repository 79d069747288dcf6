"""A quantised matrix times a vector, on a GPU: kernels in Metal, and their grids.

All of them take float32, float16 or bfloat16, and return the dtype of the vector.
"""

from typing import Any

import mlx.core as mx
from jaxtyping import Float

from .quantize import QuantizedWeights

_LANES = 32  # Threads of a SIMD group, on every GPU of Apple's.
_THREADS = 64  # Of a threadgroup. Its SIMD groups have nothing to do with each other.
_ROWS = 4  # Of a SIMD group: with more, their sums and its x need too many registers.

_WORD_BY_WORD = """
// out[o] = sum over i of (scales[o, i / G] * q[o, i] + biases[o, i / G]) * x[i]
//
// A SIMD group computes a row. In each step its lanes take 32 neighbouring words.
// Grid: 32 threads for each row.

const uint per_word = 32 / BITS;
const uint num_words = packed_shape[1];  // Of a row.
const uint num_groups = scales_shape[1];
const uint row = thread_position_in_grid.x / 32;
const uint lane = thread_index_in_simdgroup;

float sum = 0.0f;
for (uint at = lane; at < num_words; at += 32) {
    const uint word = packed[row * num_words + at];
    const uint group = row * num_groups + at * per_word / G;
    const float scale = float(scales[group]), bias = float(biases[group]);
    for (uint i = 0; i < per_word; ++i) {
        const float q = float(word >> (BITS * i) & ((1u << BITS) - 1u));
        sum += (scale * q + bias) * float(x[at * per_word + i]);
    }
}
sum = simd_sum(sum);
if (lane == 0) out[row] = T(sum);
"""

_ROW_BY_ROW = """
// As in _WORD_BY_WORD, with the sum taken apart. A load's weights are in one group:
//
//     sum of w * x = scale * (sum of q * x) + bias * (sum of x)
//
// A SIMD group computes ROWS rows. In each step its lanes take 32 neighbouring loads of
// 16 bytes of each row. Their entries of x are loaded once, for all of these rows.
// Grid: 32 threads for each ROWS rows. The last SIMD group may have fewer rows.
// x and the rows of packed begin at multiples of 16 bytes.

constexpr uint per_load = 128 / BITS;
const uint num_rows = packed_shape[0];
const uint num_loads = packed_shape[1] / 4;  // Of a row.
const uint num_groups = scales_shape[1];
const uint first_row = thread_position_in_grid.x / 32 * ROWS;
const uint lane = thread_index_in_simdgroup;
const device uint4* loads = (const device uint4*)packed;
const device vec<T, 4>* quads = (const device vec<T, 4>*)x;

float sums[ROWS];
for (uint r = 0; r < ROWS; ++r) sums[r] = 0.0f;

for (uint at = lane; at < num_loads; at += 32) {
    float4 values[per_load / 4];
    float4 added = float4(0.0f);
    for (uint k = 0; k < per_load / 4; ++k) {
        values[k] = float4(quads[at * (per_load / 4) + k]);
        added += values[k];
    }
    const float sum_of_x = added.x + added.y + added.z + added.w;

    for (uint r = 0; r < ROWS && first_row + r < num_rows; ++r) {
        const uint4 words = loads[(first_row + r) * num_loads + at];
        float4 products = float4(0.0f);
        for (uint k = 0; k < per_load / 4; ++k) {
            const uint bit = 4 * BITS * k;  // Where four weights begin.
            const uint4 shifts = bit % 32 + BITS * uint4(0, 1, 2, 3);
            const uint4 q = uint4(words[bit / 32]) >> shifts & ((1u << BITS) - 1u);
            products += float4(q) * values[k];
        }
        const float dot = products.x + products.y + products.z + products.w;
        const uint group = (first_row + r) * num_groups + at * per_load / G;
        sums[r] += float(scales[group]) * dot + float(biases[group]) * sum_of_x;
    }
}

for (uint r = 0; r < ROWS; ++r) {
    const float sum = simd_sum(sums[r]);  // By all lanes, also those without a load.
    if (lane == 0 && first_row + r < num_rows) out[first_row + r] = T(sum);
}
"""


def quantized_matvec_words(
    x: Float[mx.array, " I"], w: QuantizedWeights
) -> Float[mx.array, " O"]:
    """Multiply a vector. A SIMD group computes one row, a word of weights per lane.

        y = w x

    All sums are in float32, whatever the dtypes are.

    Args:
        x: The vector.
        w: The matrix, O x I when it is unpacked, of 4 or 8 bits.
    """
    return _product(x, w, "quantized_matvec_words", _WORD_BY_WORD, rows_of_each=1)


def quantized_matvec(
    x: Float[mx.array, " I"], w: QuantizedWeights
) -> Float[mx.array, " O"]:
    """Do what `quantized_matvec_words` does, 16 bytes of each of four rows at a time.

    Each entry of `x` is loaded once for all four.

    Args:
        x: The vector. It begins at a multiple of 16 bytes, as all that MLX computes.
        w: The matrix. Its groups are of 32 weights or a multiple, and it has eight
            words of weights at least.
    """
    return _product(x, w, "quantized_matvec", _ROW_BY_ROW, rows_of_each=_ROWS)


def _product(
    x: mx.array, w: QuantizedWeights, name: str, source: str, *, rows_of_each: int
) -> mx.array:
    """Run a kernel with the SIMD groups that all rows need."""
    kernel: Any = mx.fast.metal_kernel(  # which is an object to Python's types
        name=name,
        input_names=["x", "packed", "scales", "biases"],
        output_names=["out"],
        source=source,
    )
    num_rows = len(w.weight)
    num_simd_groups = -(-num_rows // rows_of_each)
    (out,) = kernel(
        inputs=[x, w.weight, w.scales, w.biases],
        output_shapes=[(num_rows,)],
        output_dtypes=[x.dtype],
        grid=(_LANES * num_simd_groups, 1, 1),
        threadgroup=(_THREADS, 1, 1),
        template=[
            ("T", x.dtype),
            ("BITS", w.bits),
            ("G", w.group_size),
            ("ROWS", rows_of_each),
        ],
    )
    return out
