"""RMSNorm, as PyTorch computes it in float64."""

import mlx.core as mx
import torch.nn.functional as F  # noqa: N812 - PyTorch's own custom

from tiny_llm_course.grading.judgement.closeness import Truth
from tiny_llm_course.oracle.exact import exact, summing, truth


def rms_norm(x: mx.array, weight: mx.array, eps: float) -> Truth:
    """Compute RMSNorm. The error scale is the entry itself, since nothing cancels."""
    value = F.rms_norm(exact(x), weight.shape, exact(weight), eps=eps)
    return truth(value, value.abs() * (1 + summing(x.shape[-1], x.dtype)))
