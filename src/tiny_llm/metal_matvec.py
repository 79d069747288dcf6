"""A quantised matrix times a vector, on a GPU: kernels in Metal, and their grids.

All of them take float32, float16 or bfloat16, and return the dtype of the vector.
"""

from typing import Any

import mlx.core as mx
from jaxtyping import Float

from tiny_llm_course import todo

from .quantize import QuantizedWeights


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
    todo("week 2, day G3, task 1")


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
    todo("week 2, day G3, task 2")
