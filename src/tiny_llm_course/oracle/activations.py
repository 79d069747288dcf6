"""ReLU, GELU and Swish, as PyTorch computes them in float64."""

import mlx.core as mx
import torch
import torch.nn.functional as F  # noqa: N812 - PyTorch's own custom

from tiny_llm_course.grading.judgement.closeness import Truth
from tiny_llm_course.oracle.exact import exact, exact_truth, truth


def relu(x: mx.array) -> Truth:
    """Compute ReLU, which is exact: no rounding is allowed."""
    return exact_truth(F.relu(exact(x)))


def gelu(x: mx.array) -> Truth:
    """Compute GELU. The error scale is the input: only a factor on it is rounded."""
    inputs = exact(x)
    return truth(F.gelu(inputs), inputs.abs())


def gelu_tanh(x: mx.array) -> Truth:
    """Compute GELU by its tanh formula, with the error scale of `gelu`."""
    inputs = exact(x)
    return truth(F.gelu(inputs, approximate="tanh"), inputs.abs())


def swish(x: mx.array, beta: float) -> Truth:
    """Compute Swish, with the error scale of `gelu`."""
    inputs = exact(x)
    return truth(inputs * torch.sigmoid(beta * inputs), inputs.abs())
