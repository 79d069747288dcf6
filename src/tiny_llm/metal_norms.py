"""Norm and rotation on a GPU: kernels in Metal, with a threadgroup for each row."""

import math
from typing import Any

import mlx.core as mx
from jaxtyping import Float

from tiny_llm_course import todo


def rms_norm(
    x: Float[mx.array, "*N D"], weight: Float[mx.array, " D"], eps: float
) -> Float[mx.array, "*N D"]:
    """Rescale each length-D vector to unit root mean square, then by a learned gain.

        y = x / sqrt(mean(x * x over D) + eps) * weight

    A threadgroup computes a row, in float32. The result has the dtype of `x`.

    Args:
        x: Activations.
        weight: Learned gain, one per channel. It may have another dtype.
        eps: Added to the mean square, so in units of x squared.
    """
    todo("week 2, day G2, task 1")


def add_rms_norm(
    x: Float[mx.array, "*N D"],
    residual: Float[mx.array, "*N D"],
    weight: Float[mx.array, " D"],
    eps: float,
) -> tuple[Float[mx.array, "*N D"], Float[mx.array, "*N D"]]:
    """Add two arrays, and normalise the sum in the same kernel.

        h = x + residual
        y = h / sqrt(mean(h * h over D) + eps) * weight

    Args:
        x: What a layer has computed.
        residual: The stream that it is added to, of the same dtype.
        weight: As in `rms_norm`, like the next one.
        eps: Added to the mean square.

    Returns:
        The sum h, and y.
    """
    todo("week 2, day G2, task 2")


def rope(
    x: Float[mx.array, "B L H D"], offset: int, base: float
) -> Float[mx.array, "B L H D"]:
    """Rotate the pairs (x_i, x_(i + D/2)) of each head by angles of its position.

        angle(p, i) = p * base ^ (-2 i / D),   p = offset .. offset + L - 1
        (a, b) -> (a cos - b sin, b cos + a sin)

    A threadgroup rotates a token. A thread computes cosine and sine of a pair once, for
    all heads, in float32.

    Args:
        x: Queries or keys, heads after tokens. D is even.
        offset: Position of the first token, in all B sequences.
        base: Ratio of the fastest to the slowest rotation, nearly.
    """
    todo("week 2, day G2, task 3")
