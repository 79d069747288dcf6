"""The relatives of RMSNorm, as PyTorch computes them in float64."""

import math
from collections.abc import Sequence

import mlx.core as mx
import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 - PyTorch's own custom
from numpy.typing import NDArray

from tiny_llm_course.grading.judgement.closeness import Truth
from tiny_llm_course.oracle.exact import (
    as_numpy,
    exact,
    float32_share,
    summing,
    truth,
)

Running = tuple[NDArray[np.float64], NDArray[np.float64]]
"""A running mean and a running variance."""


def layer_norm(x: mx.array, weight: mx.array, bias: mx.array, eps: float) -> Truth:
    """Compute LayerNorm. The error scale has the terms of the subtracted mean."""
    inputs, gain, shift = map(exact, (x, weight, bias))
    value = F.layer_norm(inputs, gain.shape, gain, shift, eps)
    size = inputs.abs().mean(dim=-1, keepdim=True)
    spread = (inputs.var(dim=-1, correction=0, keepdim=True) + eps).sqrt()
    noise = summing(x.shape[-1], x.dtype)
    return _shifted(value, shift, gain.abs() * size / spread, noise)


def batch_norm(
    x: mx.array, weight: mx.array, bias: mx.array, eps: float = 1e-5
) -> Truth:
    """Compute BatchNorm in training, with the statistics of the batch."""
    inputs, gain, shift = map(exact, (x, weight, bias))
    rows = inputs.reshape(-1, inputs.shape[-1])
    value = F.batch_norm(rows, None, None, gain, shift, training=True, eps=eps)
    spread = (rows.var(dim=0, correction=0) + eps).sqrt()
    terms = gain.abs() * rows.abs().mean(dim=0) / spread
    noise = summing(rows.shape[0], x.dtype)
    return _shifted(value.reshape(inputs.shape), shift, terms, noise)


def batch_norm_in_use(
    x: mx.array,
    weight: mx.array,
    bias: mx.array,
    running: Running,
    eps: float = 1e-5,
) -> Truth:
    """Compute BatchNorm in inference, with the running statistics.

    A solution may combine gain, spread and mean before it multiplies x.
    """
    inputs, gain, shift = map(exact, (x, weight, bias))
    mean, variance = map(torch.from_numpy, running)
    rows = inputs.reshape(-1, inputs.shape[-1])
    value = F.batch_norm(rows, mean, variance, gain, shift, eps=eps)
    terms = gain.abs() * (inputs.abs() + mean.abs()) / (variance + eps).sqrt()
    return _shifted(value.reshape(inputs.shape), shift, terms, float32_share(x.dtype))


def running_statistics(
    batches: Sequence[mx.array], mean: mx.array, var: mx.array, momentum: float = 0.1
) -> Running:
    """Return the running mean and variance after training on all of `batches`."""
    running = exact(mean), exact(var)
    for batch in batches:
        rows = exact(batch).reshape(-1, batch.shape[-1])
        F.batch_norm(rows, *running, training=True, momentum=momentum)
    return as_numpy(running[0]), as_numpy(running[1])


def remembered(
    value: NDArray[np.float64], batches: Sequence[mx.array], start: mx.array
) -> Truth:
    """Return a running statistic with its error scale.

    The scale has its first value, its last value and the size of the averaged numbers.

    Args:
        value: A running mean or variance.
        batches: The training inputs. A mean adds up their entries, a variance their
            squares.
        start: Its first value.
    """
    rows = torch.cat([exact(one).reshape(-1, one.shape[-1]) for one in batches])
    noise = summing(rows.shape[0], mx.float32)
    reached = torch.from_numpy(value)
    size = reached.abs() + rows.abs().mean(dim=0)
    return truth(reached, exact(start).abs() + size * (1 + noise))


def group_norm(
    x: mx.array, num_groups: int, weight: mx.array, bias: mx.array, eps: float
) -> Truth:
    """Compute GroupNorm. PyTorch expects the channels on axis 1."""
    inputs, gain, shift = map(exact, (x, weight, bias))
    moved = inputs.movedim(-1, 1)
    value = F.group_norm(moved, num_groups, gain, shift, eps).movedim(1, -1)
    groups = moved.reshape(moved.shape[0], num_groups, -1)
    spread = (groups.var(dim=-1, correction=0, keepdim=True) + eps).sqrt()
    sizes = (groups.abs().mean(dim=-1, keepdim=True) / spread).expand(groups.shape)
    terms = gain.abs() * sizes.reshape(moved.shape).movedim(1, -1)
    return _shifted(value, shift, terms, summing(groups.shape[-1], x.dtype))


def partial_rms_norm(
    x: mx.array, weight: mx.array, fraction: float, eps: float
) -> Truth:
    """Compute partial RMSNorm by its formula, as PyTorch has none."""
    inputs = exact(x)
    num_measured = math.ceil(fraction * x.shape[-1])
    mean_square = inputs[..., :num_measured].square().mean(dim=-1, keepdim=True)
    value = inputs / (mean_square + eps).sqrt() * exact(weight)
    return truth(value, value.abs() * (1 + summing(num_measured, x.dtype)))


def _shifted(
    value: torch.Tensor, shift: torch.Tensor, terms: torch.Tensor, noise: float
) -> Truth:
    """Return a truth with an error scale of both last terms and the mean's rounding.

    Args:
        value: What a right output is.
        shift: The bias: the second of the last two terms.
        terms: Size of the averaged numbers, in the units of the output.
        noise: The error of a float32 mean of such terms, relative to one rounding.
    """
    scaled = (value - shift).abs()
    return truth(value, shift.abs() + scaled * (1 + noise) + terms * noise)
