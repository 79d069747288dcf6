"""Rotary position embedding as a product of complex numbers, in float64."""

import math

import mlx.core as mx
import torch

from tiny_llm_course.grading.judgement.closeness import Truth
from tiny_llm_course.oracle.exact import exact, float32_share, truth


def rotation_angles(positions: torch.Tensor, dims: int, base: float) -> torch.Tensor:
    """Return the angle of every pair at every position, in radians.

    Args:
        positions: Positions of any shape.
        dims: Width D of a head.
        base: The base of the rotation.

    Returns:
        Angles, in the shape of `positions` with an axis of D / 2 appended.
    """
    frequencies = base ** (-torch.arange(0, dims, 2, dtype=torch.float64) / dims)
    return positions[..., None].double() * frequencies


def rope(
    x: mx.array, positions: list[range], *, base: float, traditional: bool
) -> Truth:
    """Rotate. The error scale is the length of a pair, times what its angle adds.

    In float32, the error of an angle of a thousand radians is a thousand times that of
    an angle of one. And the relative error of a frequency computed as exp(-e), e =
    ln(base) 2 i / D, grows with e: MLX's own rotation was seen 5.7 roundings off at
    position 32766, for e = 8.

    Args:
        x: N x L x H x D.
        positions: The L positions of each of the N sequences.
        base: The base of the rotation.
        traditional: Whether pairs are neighbours rather than halves.
    """
    steps = torch.tensor([list(one) for one in positions])
    angles = rotation_angles(steps, x.shape[-1], base)[:, :, None, :]
    inputs = exact(x)
    pairs = (
        inputs.unflatten(-1, (-1, 2))
        if traditional
        else inputs.unflatten(-1, (2, -1)).transpose(-1, -2)
    )
    numbers = torch.view_as_complex(pairs.contiguous())
    turned = torch.view_as_real(numbers * torch.polar(torch.ones_like(angles), angles))
    exponents = math.log(base) * torch.arange(0, x.shape[-1], 2) / x.shape[-1]
    uncertain = angles * (1 + exponents) * float32_share(x.dtype)
    size = numbers.abs() * (1 + uncertain)
    scale = torch.stack([size, size], dim=-1)
    if not traditional:
        turned, scale = turned.transpose(-1, -2), scale.transpose(-1, -2)
    return truth(turned.flatten(-2), scale.flatten(-2))


def sinusoidal_positions(num_positions: int, dim: int, base: float) -> Truth:
    """Compute sines and cosines. The error scale is 1 plus the angle's as in `rope`."""
    angles = rotation_angles(torch.arange(num_positions), dim, base)
    value = torch.stack([angles.sin(), angles.cos()], dim=-1)
    exponents = math.log(base) * torch.arange(0, dim, 2) / dim
    scale = (1 + angles * (1 + exponents))[..., None].expand_as(value)
    return truth(value.flatten(-2), scale.flatten(-2))
