"""What stands between the products of a layer, fused, in float64."""

import mlx.core as mx
import torch.nn.functional as F  # noqa: N812 - PyTorch's own custom

from tiny_llm_course.grading.judgement.closeness import Truth
from tiny_llm_course.oracle.exact import exact, float32_share, summing, truth


def added(x: mx.array, residual: mx.array) -> Truth:
    """Judge each sum on itself: it is rounded once."""
    value = exact(x) + exact(residual)
    return truth(value, value.abs())


def add_rms_norm(
    x: mx.array, residual: mx.array, weight: mx.array, eps: float
) -> Truth:
    """Judge each entry on itself, whether the sum is rounded before the norm or not."""
    total = exact(x) + exact(residual)
    value = F.rms_norm(total, weight.shape, exact(weight), eps=eps)
    return truth(value, value.abs() * (1 + summing(x.shape[-1], x.dtype)))


def swiglu(gate: mx.array, up: mx.array) -> Truth:
    """Judge each entry on itself, and on a sigmoid that is computed in float32.

    Such a sigmoid may be off by a rounding of 1, as one through tanh is, and what it
    multiplies are both inputs.
    """
    inputs, through = exact(gate), exact(up)
    value = F.silu(inputs) * through
    terms = (inputs * through).abs()
    return truth(value, value.abs() + terms * float32_share(gate.dtype))
