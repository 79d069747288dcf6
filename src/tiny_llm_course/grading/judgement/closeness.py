"""The one function that decides whether an output is right."""

from dataclasses import dataclass
from typing import Any

import mlx.core as mx
import numpy as np
from numpy.typing import NDArray

ALLOWED_ULPS = 4.0
"""How many ULPs (units in the last place) a correct result may be off.

They are counted at the scale of the computation. Each rounding to the output dtype
costs at most half a ULP. A correct solution rounds a few times on the way (a product, a
sum, a gain), and four ULPs leave room for every order of operations that we know.
"""

_MACHINE_EPSILON = {mx.float32: 2.0**-23, mx.float16: 2.0**-10, mx.bfloat16: 2.0**-7}
_SMALLEST = {mx.float32: 2.0**-126, mx.float16: 2.0**-24, mx.bfloat16: 2.0**-126}


def epsilon(dtype: mx.Dtype) -> float:
    """Return the distance from 1 to the next larger number of `dtype`.

    It is 0 for a dtype that no right output has, such as bool, so that such outputs are
    compared for equality.
    """
    return _MACHINE_EPSILON.get(dtype, 0.0)


@dataclass(frozen=True)
class Truth:
    """The right output, and the scale on which errors are judged.

    Attributes:
        value: The exact result, in float64.
        scale: The magnitude of the terms that were added up for each entry. It
            broadcasts to the shape of `value`. A sum of large terms that cancel may be
            off by as much as its terms are, however small the sum is.
    """

    value: NDArray[np.float64]
    scale: NDArray[np.float64]


def wide(x: mx.array) -> NDArray[Any]:
    """Return the entries of `x` in float64, or int64 if it holds integers."""
    if mx.issubdtype(x.dtype, mx.integer):
        return np.array(x).astype(np.int64)
    # NumPy has no bfloat16; float32 holds every value of both half types.
    return np.array(x.astype(mx.float32), dtype=np.float64)


def judged_as(truth: Truth, asked: mx.Dtype, got: mx.Dtype) -> Truth:
    """Return the truth for an output of a wrong dtype, in the right dtype's precision.

    A result computed in half precision and returned in float32 is some 900 ULPs of
    float32 off, but less than an ULP of the dtype that was asked for.

    Args:
        truth: What the output should be.
        asked: The dtype that the output should have.
        got: The dtype that the output has.
    """
    if not epsilon(got) or epsilon(got) >= epsilon(asked):
        return truth
    ulp = epsilon(asked) * truth.scale + _SMALLEST[asked]
    return Truth(truth.value, ulp / epsilon(got))


def copied(value: NDArray[np.float64]) -> Truth:
    """Return the truth of a result that is copied, so that no rounding is allowed."""
    return Truth(value, np.zeros_like(value))


def ulps_off(got: mx.array, truth: Truth) -> NDArray[np.float64]:
    """Measure how far each entry of `got` is from the truth.

        |got - value| / (epsilon of the dtype of got * scale)

    Where the truth is infinite or NaN, the same value is 0 off and any other infinitely
    far.

    Args:
        got: An output of the shape of `truth.value`.
        truth: What it should be.
    """
    output = wide(got.astype(mx.float32))
    ulp = epsilon(got.dtype) * truth.scale + _SMALLEST.get(got.dtype, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        off = np.abs(output - truth.value) / ulp
    same = (output == truth.value) | (np.isnan(output) & np.isnan(truth.value))
    return np.where(same, 0.0, np.where(np.isfinite(off), off, np.inf))


def is_close(got: mx.array, truth: Truth) -> bool:
    """Decide whether `got` is right: shape, and every entry within `ALLOWED_ULPS`."""
    return got.shape == truth.value.shape and bool(
        np.all(ulps_off(got, truth) <= ALLOWED_ULPS)
    )
