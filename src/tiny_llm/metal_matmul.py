"""A quantised matrix times many vectors, on a GPU: tiles in threadgroup memory.

Both kernels take float32, float16 or bfloat16, and return the dtype of the vectors.
"""

from typing import Any

import mlx.core as mx
from jaxtyping import Float

from tiny_llm_course import todo

from .quantize import QuantizedWeights


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
    todo("week 2, day G4, task 1")


def quantized_matmul_simdgroup(
    x: Float[mx.array, "L I"], w: QuantizedWeights
) -> Float[mx.array, "L O"]:
    """Do what `quantized_matmul_tiled` does, with the sums in matrices of SIMD groups.

    Arguments are the same.
    """
    todo("week 2, day G4, task 2")
