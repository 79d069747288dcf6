"""The fused operations between a layer's matrix products, in float64."""

import mlx.core as mx
import torch.nn.functional as F  # noqa: N812 - PyTorch's own custom

from tiny_llm_course.grading.judgement.closeness import Truth
from tiny_llm_course.oracle.exact import exact, float32_share, summing, truth


def added(x: mx.array, residual: mx.array) -> Truth:
    """Add. The error scale is the sum, which is rounded once."""
    value = exact(x) + exact(residual)
    return truth(value, value.abs())


def add_rms_norm(
    x: mx.array, residual: mx.array, weight: mx.array, eps: float
) -> Truth:
    """Normalise a sum, rounded before or not. The error scale is the entry itself."""
    total = exact(x) + exact(residual)
    value = F.rms_norm(total, weight.shape, exact(weight), eps=eps)
    return truth(value, value.abs() * (1 + summing(x.shape[-1], x.dtype)))


def swiglu(gate: mx.array, up: mx.array) -> Truth:
    """Compute SwiGLU. The error scale has the entry and a float32 sigmoid's rounding.

    Such a sigmoid may be off by a rounding of 1, as one through tanh is, and it is
    multiplied by both inputs.
    """
    inputs, through = exact(gate), exact(up)
    value = F.silu(inputs) * through
    terms = (inputs * through).abs()
    return truth(value, value.abs() + terms * float32_share(gate.dtype))
