"""Feed-forward layers in PyTorch operations, in float64.

`transformers` has a class for Qwen2's, which takes four seconds to import: longer than
the rest of the day's tests. tests/course/test_oracle.py proves that the two agree.
"""

from collections.abc import Callable, Mapping, Sequence

import mlx.core as mx
import torch
import torch.nn.functional as F  # noqa: N812 - PyTorch's own custom

from tiny_llm_course.grading.judgement.closeness import Truth
from tiny_llm_course.oracle.exact import exact, layer_truth


def swiglu(x: mx.array, w_gate: mx.array, w_up: mx.array, w_down: mx.array) -> Truth:
    """Compute SwiGLU. The error scale of a vector is its largest entry.

    Args:
        x: N.. x L x E.
        w_gate: I x E.
        w_up: I x E.
        w_down: E x I.
    """
    return gated(x, (w_gate, w_up, w_down), "silu")


ACTIVATIONS: Mapping[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "identity": lambda x: x,
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "relu": F.relu,
    "gelu": F.gelu,
    "silu": F.silu,
}


def two_layers(
    x: mx.array, weights: Sequence[mx.array], biases: Sequence[mx.array], name: str
) -> Truth:
    """Compute the MLP of 2017. The error scale of a vector is its largest entry.

    Args:
        x: N.. x E.
        weights: I x E and E x I.
        biases: I and E.
        name: Of the activation.
    """
    w1, w2 = map(exact, weights)
    b1, b2 = map(exact, biases)
    hidden = ACTIVATIONS[name](F.linear(exact(x), w1, b1))
    return layer_truth(F.linear(hidden, w2, b2), w1.shape[0], x.dtype)


def gated(x: mx.array, weights: Sequence[mx.array], name: str) -> Truth:
    """Compute a gated layer. The error scale of a vector is its largest entry.

    Args:
        x: N.. x E.
        weights: The weights of gate, up and down.
        name: Of the activation.
    """
    w_gate, w_up, w_down = map(exact, weights)
    gate = ACTIVATIONS[name](F.linear(exact(x), w_gate))
    output = F.linear(gate * F.linear(exact(x), w_up), w_down)
    return layer_truth(output, w_gate.shape[0], x.dtype)
