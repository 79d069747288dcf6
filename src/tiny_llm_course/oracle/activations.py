"""ReLU, GELU and Swish, as PyTorch computes them in float64."""

import mlx.core as mx
import torch
import torch.nn.functional as F  # noqa: N812 - PyTorch's own custom

from tiny_llm_course.grading.judgement.closeness import Truth
from tiny_llm_course.oracle.exact import exact, exact_truth, truth


def relu(x: mx.array) -> Truth:
    """Allow no error: nothing is computed."""
    return exact_truth(F.relu(exact(x)))


def gelu(x: mx.array) -> Truth:
    """Judge on the input, which a rounded number between 0 and 1 multiplies."""
    inputs = exact(x)
    return truth(F.gelu(inputs), inputs.abs())


def gelu_tanh(x: mx.array) -> Truth:
    """Judge on the input, as `gelu` does."""
    inputs = exact(x)
    return truth(F.gelu(inputs, approximate="tanh"), inputs.abs())


def swish(x: mx.array, beta: float) -> Truth:
    """Judge on the input, as `gelu` does."""
    inputs = exact(x)
    return truth(inputs * torch.sigmoid(beta * inputs), inputs.abs())
