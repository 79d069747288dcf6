"""Products with quantised weights, in float64."""

import mlx.core as mx
import torch
import torch.nn.functional as F  # noqa: N812 - PyTorch's own custom

from tiny_llm_course.grading.judgement.closeness import Truth
from tiny_llm_course.oracle.exact import exact, float32_share, truth
from tiny_llm_course.oracle.stored import Stored, dequantised


def matmul(
    a: mx.array, b: Stored, bias: mx.array | None = None, *, transpose: bool = True
) -> Truth:
    """Multiply in float64 by the exact weights: scales times integers, plus biases.

    A solution may round each weight to the dtype of the scales: its product with the
    scale, and the sum. Over many weights, these errors add up like random numbers.

    Args:
        a: N.. x I, or N.. x O without `transpose`.
        b: O x I.
        bias: Added to the result.
        transpose: Whether to multiply by the transpose of `b`.
    """
    inputs = exact(a)
    product, shift = _scaled(b)
    weights = product + shift
    rounded = (product.square() + weights.square()).sqrt()
    if not transpose:
        weights, rounded = weights.mT, rounded.mT
    offsets = None if bias is None else exact(bias)
    value = F.linear(inputs, weights, offsets)
    terms = F.linear(inputs.abs(), rounded.abs())
    roundings = F.linear(inputs.square(), rounded.square()).sqrt()
    scale = value.abs() + roundings + terms * float32_share(a.dtype)
    return truth(value, scale if offsets is None else scale + offsets.abs())


def _scaled(stored: Stored) -> tuple[torch.Tensor, torch.Tensor]:
    """Return scale times integer, and the bias, for each weight, in float64."""
    # With scale 1 and bias 0, dequantising gives the integers.
    ones = mx.ones(stored.scales.shape)
    plain = Stored(
        stored.packed, ones, mx.zeros(ones.shape), stored.group_size, stored.bits
    )
    spread = [
        exact(one).repeat_interleave(stored.group_size, dim=-1)
        for one in (stored.scales, stored.biases)
    ]
    return exact(dequantised(plain)) * spread[0], spread[1]
