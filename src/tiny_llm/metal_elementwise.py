"""First kernels in Metal: a gate, number by number, and the sums of rows.

Each function makes a kernel of its source with `mx.fast.metal_kernel`, and starts it
with a grid of threads. All of them take float32, float16 or bfloat16, and compute in
float32.
"""

from typing import Any

import mlx.core as mx
from jaxtyping import Float

from tiny_llm_course import todo

THREADS = 256
"""Of a threadgroup: 8 SIMD groups. A power of two, which the tree asks for."""


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
    todo("week 2, day G1, task 1")


def row_sum_one_thread(x: Float[mx.array, "R C"]) -> Float[mx.array, " R"]:
    """Add up each row, a thread for each row.

        y_r = sum of x_rc over c

    The sum is float32, whatever the dtype of `x`.

    Args:
        x: The rows.
    """
    todo("week 2, day G1, task 2")


def row_sum_tree(x: Float[mx.array, "R C"]) -> Float[mx.array, " R"]:
    """Add up each row, a threadgroup for each row, in halves.

    Each thread adds up every THREADS-th entry. Then the upper half of the threads hands
    its sums to the lower half, again and again, until one sum is left. What is computed
    is the same as in `row_sum_one_thread`.

    Args:
        x: The rows.
    """
    todo("week 2, day G1, task 2")


def row_sum_simd(x: Float[mx.array, "R C"]) -> Float[mx.array, " R"]:
    """Add up each row, a threadgroup for each row, in SIMD groups.

    The 32 lanes of a SIMD group add up their sums by `simd_sum`, without memory. The
    first SIMD group then adds up one sum of each. What is computed is the same as in
    `row_sum_one_thread`.

    Args:
        x: The rows.
    """
    todo("week 2, day G1, task 3")
