"""A quantised matrix times many vectors, on a GPU: tiles in threadgroup memory.

Both kernels take float32, float16 or bfloat16, and return the dtype of the vectors.
"""

from typing import Any

import mlx.core as mx
from jaxtyping import Float

from .quantize import QuantizedWeights

_SIDE = 16  # Of a tile of sums, one for each thread: 256 threads.
_BLOCK = 32  # Side of the tile that four SIMD groups share, 16 x 16 sums for each.
_THREADS = 128  # These four SIMD groups.

_TILED = """
// out[l, o] = sum over i of x[l, i] * w[o, i]
// w[o, i] = scales[o, i / G] * q[o, i] + biases[o, i / G]
//
// A threadgroup computes SIDE x SIDE of these sums, one in each thread. In each step
// all threads copy 32 columns of SIDE rows of x and of w to threadgroup memory, and
// use them. Rows that are not there are zeros.
// Grid: (O, L), each rounded up to a multiple of SIDE.

constexpr uint depth = 32;  // Of a step. Its weights of a row are in one group.
constexpr uint per_word = 32 / BITS;
constexpr uint stride = depth + 1;  // So that neighbouring rows begin in other banks.
threadgroup float x_tile[SIDE * stride];
threadgroup float w_tile[SIDE * stride];

const uint num_tokens = x_shape[0], num_columns = x_shape[1];
const uint num_rows = packed_shape[0], num_words = packed_shape[1];
const uint num_groups = scales_shape[1];
const uint column = thread_position_in_threadgroup.x;  // Of the tile: a row of w.
const uint line = thread_position_in_threadgroup.y;    // Of the tile: a token.
const uint t = thread_index_in_threadgroup;
const uint first_row = threadgroup_position_in_grid.x * SIDE;
const uint first_token = threadgroup_position_in_grid.y * SIDE;

float sum = 0.0f;
for (uint start = 0; start < num_columns; start += depth) {
    for (uint at = t; at < SIDE * depth; at += SIDE * SIDE) {
        const uint token = first_token + at / depth, i = at % depth;
        x_tile[at / depth * stride + i] =
            token < num_tokens ? float(x[token * num_columns + start + i]) : 0.0f;
    }
    for (uint at = t; at < SIDE * depth / per_word; at += SIDE * SIDE) {
        const uint r = at / (depth / per_word), i = at % (depth / per_word) * per_word;
        const uint row = first_row + r;
        uint word = 0;
        float scale = 0.0f, bias = 0.0f;
        if (row < num_rows) {
            word = packed[row * num_words + (start + i) / per_word];
            scale = float(scales[row * num_groups + (start + i) / G]);
            bias = float(biases[row * num_groups + (start + i) / G]);
        }
        for (uint k = 0; k < per_word; ++k) {
            const float q = float(word >> (BITS * k) & ((1u << BITS) - 1u));
            w_tile[r * stride + i + k] = scale * q + bias;
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);  // Both tiles are complete.

    for (uint i = 0; i < depth; ++i) {
        sum += x_tile[line * stride + i] * w_tile[column * stride + i];
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);  // Nobody needs them any more.
}
const uint token = first_token + line, row = first_row + column;
if (token < num_tokens && row < num_rows) out[token * num_rows + row] = T(sum);
"""

_SIMDGROUP = """
// As in _TILED, with the sums in matrices of 8 x 8, in registers of a SIMD group.
//
// A threadgroup of four SIMD groups computes 32 x 32 sums. Each SIMD group has a
// quarter: 2 x 2 matrices. For eight columns it loads two matrices of x and two of w,
// and multiplies each with each.
// Grid: (128 * O / 32, L / 32), both quotients rounded up.

constexpr uint side = 32, depth = 32;
constexpr uint per_word = 32 / BITS;
constexpr uint stride = depth + 4;  // Rows of a matrix then begin in eight banks.
threadgroup float x_tile[side * stride];
threadgroup float w_tile[side * stride];

const uint num_tokens = x_shape[0], num_columns = x_shape[1];
const uint num_rows = packed_shape[0], num_words = packed_shape[1];
const uint num_groups = scales_shape[1];
const uint t = thread_index_in_threadgroup;
const uint first_row = threadgroup_position_in_grid.x * side;
const uint first_token = threadgroup_position_in_grid.y * side;
const uint top = simdgroup_index_in_threadgroup / 2 * 16;   // Its quarter: in x_tile,
const uint left = simdgroup_index_in_threadgroup % 2 * 16;  // and in w_tile.

simdgroup_matrix<float, 8, 8> sums[2][2];
for (uint a = 0; a < 2; ++a) {
    for (uint b = 0; b < 2; ++b) sums[a][b] = simdgroup_matrix<float, 8, 8>(0.0f);
}
for (uint start = 0; start < num_columns; start += depth) {
    for (uint at = t; at < side * depth; at += 128) {
        const uint token = first_token + at / depth, i = at % depth;
        x_tile[at / depth * stride + i] =
            token < num_tokens ? float(x[token * num_columns + start + i]) : 0.0f;
    }
    for (uint at = t; at < side * depth / per_word; at += 128) {
        const uint r = at / (depth / per_word), i = at % (depth / per_word) * per_word;
        const uint row = first_row + r;
        uint word = 0;
        float scale = 0.0f, bias = 0.0f;
        if (row < num_rows) {
            word = packed[row * num_words + (start + i) / per_word];
            scale = float(scales[row * num_groups + (start + i) / G]);
            bias = float(biases[row * num_groups + (start + i) / G]);
        }
        for (uint k = 0; k < per_word; ++k) {
            const float q = float(word >> (BITS * k) & ((1u << BITS) - 1u));
            w_tile[r * stride + i + k] = scale * q + bias;
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);  // Both tiles are complete.

    for (uint i = 0; i < depth; i += 8) {
        simdgroup_matrix<float, 8, 8> of_x[2], of_w[2];
        for (uint a = 0; a < 2; ++a) {
            simdgroup_load(of_x[a], x_tile + (top + 8 * a) * stride + i, stride);
            // Transposed: columns of the second factor are rows of w.
            simdgroup_load(of_w[a], w_tile + (left + 8 * a) * stride + i, stride,
                           ulong2(0, 0), true);
        }
        for (uint a = 0; a < 2; ++a) {
            for (uint b = 0; b < 2; ++b) {
                simdgroup_multiply_accumulate(sums[a][b], of_x[a], of_w[b], sums[a][b]);
            }
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);  // Nobody needs them any more.
}

// Out through threadgroup memory: of a matrix at the edge only a part may be there.
for (uint a = 0; a < 2; ++a) {
    for (uint b = 0; b < 2; ++b) {
        simdgroup_store(sums[a][b],
                        x_tile + (top + 8 * a) * stride + left + 8 * b, stride);
    }
}
threadgroup_barrier(mem_flags::mem_threadgroup);  // The four quarters are there.
for (uint at = t; at < side * side; at += 128) {
    const uint token = first_token + at / side, row = first_row + at % side;
    if (token < num_tokens && row < num_rows) {
        out[token * num_rows + row] = T(x_tile[at / side * stride + at % side]);
    }
}
"""


def quantized_matmul_tiled(
    x: Float[mx.array, "L I"], w: QuantizedWeights
) -> Float[mx.array, "L O"]:
    """Multiply vectors, a tile of the result in each threadgroup.

        y[t] = w x[t]

    A threadgroup copies a part of `x` and of `w` to its own memory, the weights
    unpacked, and each of its threads multiplies a row of the one by a row of the
    other. All sums are in float32, whatever the dtypes are.

    Args:
        x: One vector per row.
        w: The matrix, O x I when it is unpacked, of 4 or 8 bits. Its groups are of 32
            weights or a multiple.
    """
    grid = (_rounded_up(len(w.weight), _SIDE), _rounded_up(len(x), _SIDE), 1)
    return _product(x, w, "quantized_matmul_tiled", _TILED, grid, (_SIDE, _SIDE, 1))


def quantized_matmul_simdgroup(
    x: Float[mx.array, "L I"], w: QuantizedWeights
) -> Float[mx.array, "L O"]:
    """Do what `quantized_matmul_tiled` does, with the sums in matrices of SIMD groups.

    Arguments are the same.
    """
    num_blocks = -(-len(w.weight) // _BLOCK)
    grid = (_THREADS * num_blocks, -(-len(x) // _BLOCK), 1)
    name = "quantized_matmul_simdgroup"
    return _product(x, w, name, _SIMDGROUP, grid, (_THREADS, 1, 1))


def _product(
    x: mx.array,
    w: QuantizedWeights,
    name: str,
    source: str,
    grid: tuple[int, int, int],
    threadgroup: tuple[int, int, int],
) -> mx.array:
    """Run a kernel."""
    kernel: Any = mx.fast.metal_kernel(  # which is an object to Python's types
        name=name,
        input_names=["x", "packed", "scales", "biases"],
        output_names=["out"],
        source=source,
    )
    (out,) = kernel(
        inputs=[x, w.weight, w.scales, w.biases],
        output_shapes=[(len(x), len(w.weight))],
        output_dtypes=[x.dtype],
        grid=grid,
        threadgroup=threadgroup,
        template=[
            ("T", x.dtype),
            ("BITS", w.bits),
            ("G", w.group_size),
            ("SIDE", threadgroup[1]),
        ],
    )
    return out


def _rounded_up(number: int, side: int) -> int:
    """Return the multiple of `side` that is no smaller."""
    return -(-number // side) * side
