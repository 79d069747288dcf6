"""The kernels in Metal as the model calls them: with its shapes and dtypes."""

import mlx.core as mx
from jaxtyping import Float

from tiny_llm_course import todo

from .metal_elementwise import silu_times_up


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
