"""The kernels in Metal as the model calls them: with its shapes and dtypes."""

import mlx.core as mx
from jaxtyping import Float

from tiny_llm_course import todo

from .metal_norms import rms_norm, rope


def norm(
    x: Float[mx.array, "B L E"], weight: Float[mx.array, " E"], eps: float
) -> Float[mx.array, "B L E"]:
    """Normalise the stream of the model, with a kernel of your own.

    Args:
        x: The stream, in the dtype that the model computes in.
        weight: Gains of the norm, in the dtype of the checkpoint.
        eps: `rms_norm_eps` of the checkpoint.
    """
    todo("week 2, day G2, task 4")


def rotate(
    x: Float[mx.array, "B L H D"], offset: int, theta: float
) -> Float[mx.array, "B L H D"]:
    """Rotate queries or keys by their positions, with a kernel of your own.

    Args:
        x: Queries or keys, heads after tokens.
        offset: Position of the first new token: how many came before.
        theta: `rope_theta` of the checkpoint.
    """
    todo("week 2, day G2, task 4")
