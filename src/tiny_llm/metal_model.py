"""The kernels in Metal as the model calls them: with its shapes and dtypes."""

import math

import mlx.core as mx
from jaxtyping import Float

from tiny_llm_course import todo

from .metal_elementwise import silu_times_up
from .quantize import QuantizedWeights


def swiglu(
    gate: Float[mx.array, "... I"], up: Float[mx.array, "... I"]
) -> Float[mx.array, "... I"]:
    """Let `up` through a gate, for all tokens of the model at once.

        y = gate * sigmoid(gate) * up

    All numbers go to `silu_times_up` in one call, whatever the leading axes are.

    Args:
        gate: What opens the gate.
        up: What goes through, of the same dtype.
    """
    todo("week 2, day G1, task 4")


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


def attend(
    query: Float[mx.array, "B H L D"],
    keys: Float[mx.array, "B H_kv S D"],
    values: Float[mx.array, "B H_kv S D"],
) -> Float[mx.array, "B H L D"]:
    """Let each new token collect from those before it and from itself.

    Args:
        query: What the new tokens look for. They are the last L of the S tokens.
        keys: What each token offers, from the cache.
        values: What each token hands over.
    """
    todo("week 2, day G5, task 3")
