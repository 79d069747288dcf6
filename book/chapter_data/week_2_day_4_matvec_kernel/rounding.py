"""What rounding the activations costs, in relative errors of a product."""

from functools import cache
from typing import Any

import mlx.core as mx
import numpy as np

ROWS, COLUMNS, GROUP_SIZE, BITS = 1024, 896, 64, 4
OUTLIER = 50.0


@cache
def costs() -> dict[str, Any]:
    """Multiply random activations, with and without outliers, and compare."""
    rng = np.random.default_rng(4)
    w = mx.array(rng.normal(0, COLUMNS**-0.5, (ROWS, COLUMNS)).astype(np.float32))
    packed, scales, biases = mx.quantize(w, GROUP_SIZE, BITS, stream=mx.cpu)
    known = mx.dequantize(packed, scales, biases, GROUP_SIZE, BITS, stream=mx.cpu)
    weights = np.array(known, np.float64)
    spread = np.repeat(np.array(biases, np.float64), GROUP_SIZE, axis=1)
    x = rng.normal(0, 1, COLUMNS)
    spoilt = x.copy()
    spoilt[COLUMNS // 2] = OUTLIER
    y = weights @ x
    return {
        "weights": _relative(weights @ x, np.array(w, np.float64) @ x),
        "groups": _relative(weights @ _rounded(x, GROUP_SIZE), y),
        "exact_sums": _relative(
            (weights - spread) @ _rounded(x, GROUP_SIZE) + spread @ x, y
        ),
        "largest_bias": float(np.abs(spread).mean() / weights.std()),
        "spoilt_groups": _relative(
            weights @ _rounded(spoilt, GROUP_SIZE), weights @ spoilt
        ),
        "spoilt_vector": _relative(
            weights @ _rounded(spoilt, COLUMNS), weights @ spoilt
        ),
        "outlier": OUTLIER,
    }


def _rounded(x: np.ndarray, group_size: int) -> np.ndarray:
    """Round to 127 steps on both sides of zero, group by group."""
    groups = x.reshape(-1, group_size)
    steps = np.abs(groups).max(-1, keepdims=True) / 127
    return (np.rint(groups / steps) * steps).ravel()


def _relative(got: np.ndarray, right: np.ndarray) -> float:
    """Compare root mean squares of the error and of the result."""
    return float(np.sqrt(np.mean((got - right) ** 2) / np.mean(right**2)))
