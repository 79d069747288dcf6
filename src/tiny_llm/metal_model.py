"""The kernels in Metal as the model calls them: with its shapes and dtypes."""

import math

import mlx.core as mx
from jaxtyping import Float

from tiny_llm_course import todo

from .metal_matvec import quantized_matvec
from .quantize import QuantizedWeights


def linear(
    x: Float[mx.array, "*N I"],
    w: QuantizedWeights,
    bias: Float[mx.array, " O"] | None = None,
) -> Float[mx.array, "*N O"]:
    """Apply a linear layer whose weight is quantised to every vector of `x`.

        y = x w^T + bias

    One vector goes through the product with a vector. For several it is MLX's product
    on Day G3, and the product in SIMD matrices from Day G4 on.

    Args:
        x: Vectors of length I.
        w: The weight, O x I when it is unpacked.
        bias: Added to every result. None adds nothing.
    """
    todo("week 2, day G3, task 3")
