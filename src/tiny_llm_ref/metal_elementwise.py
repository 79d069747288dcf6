"""First kernels in Metal: a gate, number by number, and the sums of rows.

Each function makes a kernel of its source with `mx.fast.metal_kernel`, and starts it
with a grid of threads. All of them take float32, float16 or bfloat16, and compute in
float32.
"""

from typing import Any

import mlx.core as mx
from jaxtyping import Float

THREADS = 256
"""Of a threadgroup: 8 SIMD groups. A power of two, which the tree asks for."""

_SILU_TIMES_UP = """
const uint i = thread_position_in_grid.x;
const float g = float(gate[i]);
y[i] = T(g / (1.0f + exp(-g)) * float(up[i]));
"""

_ROW_SUM_ONE_THREAD = """
const uint row = thread_position_in_grid.x;
const uint columns = x_shape[1];
float sum = 0.0f;
for (uint i = 0; i < columns; ++i) sum += float(x[row * columns + i]);
y[row] = sum;
"""

_ROW_SUM_TREE = """
threadgroup float part[THREADS];
const uint t = thread_index_in_threadgroup;
const uint row = threadgroup_position_in_grid.x;
const uint columns = x_shape[1];

float sum = 0.0f;
for (uint i = t; i < columns; i += THREADS) sum += float(x[row * columns + i]);
part[t] = sum;
threadgroup_barrier(mem_flags::mem_threadgroup);  // All have stored their sums.

for (uint width = THREADS / 2; width > 0; width /= 2) {
    if (t < width) part[t] += part[t + width];
    threadgroup_barrier(mem_flags::mem_threadgroup);  // This round is done.
}
if (t == 0) y[row] = part[0];
"""

_ROW_SUM_SIMD = """
threadgroup float part[THREADS / 32];
const uint t = thread_index_in_threadgroup;
const uint lane = thread_index_in_simdgroup;
const uint row = threadgroup_position_in_grid.x;
const uint columns = x_shape[1];

float sum = 0.0f;
for (uint i = t; i < columns; i += THREADS) sum += float(x[row * columns + i]);
sum = simd_sum(sum);
if (lane == 0) part[simdgroup_index_in_threadgroup] = sum;
threadgroup_barrier(mem_flags::mem_threadgroup);

if (simdgroup_index_in_threadgroup == 0) {
    // All lanes have to come to simd_sum: those without a part bring a zero.
    sum = simd_sum(lane < simdgroups_per_threadgroup ? part[lane] : 0.0f);
    if (lane == 0) y[row] = sum;
}
"""


def silu_times_up(
    gate: Float[mx.array, " N"], up: Float[mx.array, " N"]
) -> Float[mx.array, " N"]:
    """Let `up` through a gate, a thread for each number.

        y = gate * sigmoid(gate) * up

    It is computed in float32. The result has the dtype of the inputs.

    Args:
        gate: What opens the gate.
        up: What goes through, of the same dtype.
    """
    kernel: Any = mx.fast.metal_kernel(
        name="silu_times_up",
        input_names=["gate", "up"],
        output_names=["y"],
        source=_SILU_TIMES_UP,
    )
    (y,) = kernel(
        inputs=[gate, up],
        output_shapes=[gate.shape],
        output_dtypes=[gate.dtype],
        grid=(gate.size, 1, 1),
        threadgroup=(THREADS, 1, 1),
        template=[("T", gate.dtype)],
    )
    return y


def row_sum_one_thread(x: Float[mx.array, "R C"]) -> Float[mx.array, " R"]:
    """Add up each row, a thread for each row.

        y_r = sum of x_rc over c

    The sum is float32, whatever the dtype of `x`.

    Args:
        x: The rows.
    """
    kernel: Any = mx.fast.metal_kernel(
        name="row_sum_one_thread",
        input_names=["x"],
        output_names=["y"],
        source=_ROW_SUM_ONE_THREAD,
    )
    rows = len(x)
    (y,) = kernel(
        inputs=[x],
        output_shapes=[(rows,)],
        output_dtypes=[mx.float32],
        grid=(rows, 1, 1),
        threadgroup=(THREADS, 1, 1),
        template=[("T", x.dtype)],
    )
    return y


def row_sum_tree(x: Float[mx.array, "R C"]) -> Float[mx.array, " R"]:
    """Add up each row, a threadgroup for each row, in halves.

    Each thread adds up every THREADS-th entry. Then the upper half of the threads hands
    its sums to the lower half, again and again, until one sum is left. What is computed
    is the same as in `row_sum_one_thread`.

    Args:
        x: The rows.
    """
    kernel: Any = mx.fast.metal_kernel(
        name="row_sum_tree",
        input_names=["x"],
        output_names=["y"],
        source=_ROW_SUM_TREE,
    )
    rows = len(x)
    (y,) = kernel(
        inputs=[x],
        output_shapes=[(rows,)],
        output_dtypes=[mx.float32],
        grid=(rows * THREADS, 1, 1),
        threadgroup=(THREADS, 1, 1),
        template=[("T", x.dtype), ("THREADS", THREADS)],
    )
    return y


def row_sum_simd(x: Float[mx.array, "R C"]) -> Float[mx.array, " R"]:
    """Add up each row, a threadgroup for each row, in SIMD groups.

    The 32 lanes of a SIMD group add up their sums by `simd_sum`, without memory. The
    first SIMD group then adds up one sum of each. What is computed is the same as in
    `row_sum_one_thread`.

    Args:
        x: The rows.
    """
    kernel: Any = mx.fast.metal_kernel(
        name="row_sum_simd",
        input_names=["x"],
        output_names=["y"],
        source=_ROW_SUM_SIMD,
    )
    rows = len(x)
    (y,) = kernel(
        inputs=[x],
        output_shapes=[(rows,)],
        output_dtypes=[mx.float32],
        grid=(rows * THREADS, 1, 1),
        threadgroup=(THREADS, 1, 1),
        template=[("T", x.dtype), ("THREADS", THREADS)],
    )
    return y
