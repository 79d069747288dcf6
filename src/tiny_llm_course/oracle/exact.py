"""Converts between MLX and PyTorch; error scales that several oracles share."""

import math

import mlx.core as mx
import numpy as np
import torch
from numpy.typing import NDArray

from tiny_llm_course.grading.judgement.closeness import Truth, copied, epsilon, wide

# The arrays of a test are tiny: threads would cost more than they gain.
torch.set_num_threads(1)


def exact(x: mx.array) -> torch.Tensor:
    """Return `x` as a float64 tensor, or int64 if it holds integers."""
    # A copy: PyTorch may write into it.
    return torch.tensor(wide(x))


def truth(value: torch.Tensor, scale: torch.Tensor) -> Truth:
    """Pair an exact value with its error scale."""
    return Truth(as_numpy(value), as_numpy(scale))


def exact_truth(value: torch.Tensor) -> Truth:
    """Return the truth of a result that is copied, so that no rounding is allowed."""
    return copied(as_numpy(value))


def layer_truth(
    value: torch.Tensor | NDArray[np.float64], num_terms: int, dtype: mx.Dtype
) -> Truth:
    """Return the truth of a layer. The error scale of a vector is its largest entry.

    Args:
        value: The right output.
        num_terms: Length of the longest sum in the layer.
        dtype: The dtype of the input, and so of every rounding in the layer.
    """
    value = torch.as_tensor(value)
    largest = value.abs().amax(dim=-1, keepdim=True)
    return truth(value, largest * (1 + summing(num_terms, dtype)))


def as_numpy(x: torch.Tensor) -> NDArray[np.float64]:
    """Return a tensor as a float64 array."""
    return x.detach().numpy().astype(np.float64)


def float32_share(dtype: mx.Dtype) -> float:
    """Return the size of a float32 rounding relative to one to `dtype`: 1 at most.

    Sums, angles and exponents are computed in float32 for every dtype.
    """
    return epsilon(mx.float32) / epsilon(dtype)


def summing(num_terms: int, dtype: mx.Dtype) -> float:
    """Return the error of a float32 sum of like terms, relative to one rounding.

    The error of a sequential sum grows like a random walk. MLX on CPU sums that way:
    the mean of 4864 squares was seen 23 ULPs off.
    """
    return math.sqrt(num_terms) * float32_share(dtype)
