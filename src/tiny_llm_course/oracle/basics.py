"""Softmax, the linear layer and SiLU, as PyTorch computes them in float64."""

import mlx.core as mx
import torch
import torch.nn.functional as F  # noqa: N812 - PyTorch's own custom

from tiny_llm_course.grading.judgement.closeness import Truth
from tiny_llm_course.oracle.exact import exact, float32_share, summing, truth


def softmax(x: mx.array, axis: int) -> Truth:
    """Compute softmax. The error scale has the probability and its exponent."""
    scores = exact(x)
    value = F.softmax(scores, dim=axis)
    exponent = (scores - scores.amax(dim=axis, keepdim=True)).abs()
    exponent = torch.where(value > 0, exponent, 0.0)
    return truth(value, value * (1 + exponent + summing(x.shape[axis], x.dtype)))


def linear(x: mx.array, w: mx.array, bias: mx.array | None = None) -> Truth:
    """Compute a linear layer. The error scale has output, bias and the sum's terms."""
    inputs, weights = exact(x), exact(w)
    offsets = None if bias is None else exact(bias)
    value = F.linear(inputs, weights, offsets)
    terms = F.linear(inputs.abs(), weights.abs())
    scale = value.abs() + float32_share(x.dtype) * terms
    return truth(value, scale if offsets is None else scale + offsets.abs())


def silu(x: mx.array) -> Truth:
    """Compute SiLU. The error scale is the input, by which the sigmoid is multiplied.

    That accepts a sigmoid through tanh, and also `x / (1 + exp(-x))` where the
    exponential overflows in float16, at -11.1.
    """
    inputs = exact(x)
    return truth(F.silu(inputs), inputs.abs())
