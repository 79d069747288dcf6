"""The feed-forward layer of 2017, the gated ones that followed, and their width."""

from collections.abc import Callable

import mlx.core as mx
from jaxtyping import Float

from .basics import linear
from .checks import checked

Activation = Callable[[mx.array], mx.array]
"""A function of each entry by itself, such as `relu` or `mx.sigmoid`."""


class FeedForward:
    """Work on each token by itself: two linear layers, an activation between them.

        y = activation(x w1^T + b1) w2^T + b2

    The products sum in float32 and give the dtype of `x`.

    Args:
        w1: Weight of the way to width I.
        b1: Bias of it, added before the activation.
        w2: Weight of the way back to width E.
        b2: Bias of it.
        activation: ReLU in the paper; any function of each entry will do.

    Raises:
        ValueError: A shape does not fit that of `w1`.

    Source: Vaswani et al. 2017 (arXiv:1706.03762), equation 2. Its weights are stored
        inputs x outputs, ours outputs x inputs.
    """

    def __init__(
        self,
        w1: Float[mx.array, "I E"],
        b1: Float[mx.array, " I"],
        w2: Float[mx.array, "E I"],
        b2: Float[mx.array, " E"],
        activation: Activation,
    ) -> None:
        hidden_dim, dim = w1.shape
        self.w1 = w1
        self.b1 = checked("FeedForward: b1", b1, (hidden_dim,))
        self.w2 = checked("FeedForward: w2", w2, (dim, hidden_dim))
        self.b2 = checked("FeedForward: b2", b2, (dim,))
        self.activation = activation

    def __call__(self, x: Float[mx.array, "*N E"]) -> Float[mx.array, "*N E"]:
        """Transform every vector of `x`."""
        hidden = self.activation(linear(x, self.w1, self.b1))
        return linear(hidden, self.w2, self.b2)


class GatedFeedForward:
    """Work on each token by itself: one branch opens the gate, another goes through.

        y = (activation(x w_gate^T) * (x w_up^T)) w_down^T

    With the sigmoid it is GLU, with `relu` ReGLU, with `gelu` GeGLU, with SiLU SwiGLU.
    The products sum in float32 and give the dtype of `x`.

    Args:
        w_gate: Weight of the branch that goes through `activation`.
        w_up: Weight of the branch that goes through the gate.
        w_down: Weight of the way back to width E.
        activation: What makes a gate of the first branch.

    Raises:
        ValueError: A shape does not fit that of `w_gate`.

    Source: Shazeer 2020 (arXiv:2002.05202), equation 6. No biases.
    """

    def __init__(
        self,
        w_gate: Float[mx.array, "I E"],
        w_up: Float[mx.array, "I E"],
        w_down: Float[mx.array, "E I"],
        activation: Activation,
    ) -> None:
        hidden_dim, dim = w_gate.shape
        self.w_gate = w_gate
        self.w_up = checked("GatedFeedForward: w_up", w_up, (hidden_dim, dim))
        self.w_down = checked("GatedFeedForward: w_down", w_down, (dim, hidden_dim))
        self.activation = activation

    def __call__(self, x: Float[mx.array, "*N E"]) -> Float[mx.array, "*N E"]:
        """Transform every vector of `x`."""
        gate = self.activation(linear(x, self.w_gate))
        return linear(gate * linear(x, self.w_up), self.w_down)


def gated_hidden_dim(dim: int, multiple_of: int = 64) -> int:
    """Choose the width I of a gated layer that has about as many weights as 2017's.

        I = the least multiple of multiple_of with I >= 8 / 3 * dim

    Three matrices of I x E are to hold what two of 4 E x E do: 3 I E = 8 E E. Exact,
    because only whole numbers are divided.

    Args:
        dim: Width E of the activations.
        multiple_of: What must divide the result: matrix products are cut into tiles.

    Source: Shazeer 2020 (arXiv:2002.05202), section 2, for two thirds of 4 E. Rounding
        up is the custom of Llama, whose code drops the fraction of 8 / 3 E first.
    """
    multiples = -(-8 * dim // (3 * multiple_of))
    return multiples * multiple_of
