"""Results of kernels that round activations to 8 bits, with their error bounds."""

import mlx.core as mx
import numpy as np
import torch
from numpy.typing import NDArray

from tiny_llm_course.grading.judgement.closeness import ALLOWED_ULPS, Truth, epsilon
from tiny_llm_course.oracle.exact import as_numpy, exact
from tiny_llm_course.oracle.quantize import matmul
from tiny_llm_course.oracle.stored import Stored, dequantised

PANEL_ROWS = 16


def rounded_matmul(x: mx.array, w: Stored, bias: mx.array | None = None) -> Truth:
    """Multiply exactly, and allow for the largest error of rounding `x` to 8 bits.

    An entry is rounded by at most half a step, where a step is 1/127 of the largest
    entry of its group. It is multiplied by the weight, or only by scale times integer
    if the biases are multiplied by sums of the unrounded x.

    Args:
        x: N.. x I.
        w: O x I.
        bias: Added to the result.
    """
    right = matmul(x, w, bias)
    plain = Stored(w.packed, w.scales, mx.zeros_like(w.biases), w.group_size, w.bits)
    parts = [exact(dequantised(one)).abs() for one in (w, plain)]
    steps = _steps(exact(x), w.group_size)
    allowed = as_numpy(0.5 * steps @ torch.maximum(*parts).mT)
    # A little more, because the step is a rounded quotient.
    ulps = 1.001 * allowed / (ALLOWED_ULPS * epsilon(x.dtype))
    return Truth(right.value, right.scale + ulps)


def _steps(x: torch.Tensor, group_size: int) -> torch.Tensor:
    groups = x.unflatten(-1, (-1, group_size))
    steps = groups.abs().amax(-1, keepdim=True) / 127
    return steps.expand_as(groups).flatten(-2)


def panel(w: Stored, first_row: int) -> dict[str, mx.array]:
    """Lay out the rows of a panel: 16, or what is left of the matrix.

    Returns:
        Integers, scales and biases, in the order of `pack_panel`.
    """
    rows = slice(first_row, first_row + PANEL_ROWS)
    integers = _integers(w)[rows]
    ordered = integers[:, places(integers.shape[1], w)]
    quads = ordered.reshape(len(ordered), -1, 4).transpose(1, 0, 2)
    numbers = [one[rows].astype(mx.float32).T for one in (w.scales, w.biases)]
    return {
        "integers": mx.array(np.ascontiguousarray(quads)),
        "scales": mx.contiguous(numbers[0]),
        "biases": mx.contiguous(numbers[1]),
    }


def places(num_columns: int, w: Stored) -> NDArray[np.int64]:
    """Return the columns in the order in which bytes are unpacked.

    Block by block, the lowest bits of all its bytes come first, then the next ones.
    """
    block = min(w.group_size, 64)
    per_byte = 8 // w.bits
    columns = np.arange(num_columns).reshape(-1, block // per_byte, per_byte)
    return columns.transpose(0, 2, 1).reshape(-1)


def _integers(w: Stored) -> NDArray[np.uint8]:
    shifts = mx.arange(0, 32, w.bits, dtype=mx.uint32)
    fields = (w.packed[..., None] >> shifts) & (2**w.bits - 1)
    return np.array(mx.flatten(fields, -2, -1)).astype(np.uint8)
