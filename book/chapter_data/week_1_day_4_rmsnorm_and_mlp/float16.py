"""Where squares leave the range of float16."""

import math
from typing import Any

import mlx.core as mx
import numpy as np

from .writing import scientific

FLOAT16_LARGEST = float(np.finfo(np.float16).max)


def half_precision() -> dict[str, Any]:
    """Say where squares leave the range of float16."""
    below = np.nextafter(np.float16(256), np.float16(0))
    ones = mx.array(0.0, dtype=mx.bfloat16)
    for _ in range(400):
        ones = ones + mx.array(1.0, dtype=mx.bfloat16)
    return {
        "float16_largest": f"{FLOAT16_LARGEST:.0f}",
        "float16_least": scientific(2.0**-24),
        "float16_least_normal": scientific(2.0**-14),
        "square_of_256": 256**2,
        "below_256": f"{below:g}",
        "square_below_256": f"{float(below * below):.0f}",
        "vanishes_below": scientific(2.0**-12.5),
        "coarse_below": f"{2.0**-7:.4f}",
        "sum_limits": {
            str(channels): f"{math.sqrt(FLOAT16_LARGEST / channels):.1f}"
            for channels in (64, 256, 896)
        },
        "bfloat16_ones": f"{ones.item():g}",
        "bfloat16_mean": f"{ones.item() / 400:.2f}",
    }
