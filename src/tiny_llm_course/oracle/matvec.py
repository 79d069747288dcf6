"""Products of a quantised matrix with a vector that is rounded to 8 bits."""

import mlx.core as mx
import torch

from tiny_llm_course.grading.judgement.closeness import ALLOWED_ULPS, Truth, epsilon
from tiny_llm_course.oracle.exact import as_numpy, exact
from tiny_llm_course.oracle.quantize import matmul
from tiny_llm_course.oracle.stored import Stored, dequantised

LARGEST = 127
"""The largest signed 8-bit integer whose negative is one too."""

FAR_ENOUGH = 6.0
"""In standard deviations: a larger error by chance is rarer than one in 500 million."""


def of_rounded(x: mx.array, w: Stored) -> Truth:
    """Multiply the rounded x exactly, group by group.

    After the rounding, all sums are of integers, or have one term per group.
    """
    groups, steps = _groups(x, w.group_size)
    rounded = torch.where(steps > 0, torch.round(groups / steps) * steps, 0.0)
    nearest = mx.array(as_numpy(rounded.flatten()), mx.float32)
    exactly = matmul(nearest, w)
    # Only the result is rounded to the dtype of x.
    return Truth(exactly.value, matmul(x, w).scale)


def within_rounding(x: mx.array, w: Stored) -> Truth:
    """Multiply x exactly, and allow for the rounding of its entries.

    The error of an entry is uniform within half a step on both sides, so its variance
    is step^2 / 12.
    """
    exactly = matmul(x, w)
    weights = exact(dequantised(_in_float32(w)))
    _, steps = _groups(x, w.group_size)
    variances = (steps.square() / 12).repeat_interleave(w.group_size, dim=-1).flatten()
    deviation = as_numpy((weights.square() @ variances).sqrt())
    allowed = ALLOWED_ULPS * epsilon(x.dtype)
    return Truth(exactly.value, exactly.scale + FAR_ENOUGH / allowed * deviation)


def _groups(x: mx.array, group_size: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the groups of x, and the step that each is rounded to."""
    groups = exact(x).reshape(-1, group_size)
    return groups, groups.abs().amax(dim=-1, keepdim=True) / LARGEST


def _in_float32(w: Stored) -> Stored:
    scales, biases = w.scales.astype(mx.float32), w.biases.astype(mx.float32)
    return Stored(w.packed, scales, biases, w.group_size, w.bits)
