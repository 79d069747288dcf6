"""A row of four numbers, the angles of a late position, and what passes memory."""

import math
from typing import Any

import numpy as np

X = (3.0, -1.0, 0.0, 2.0)
RESIDUAL = (1.0, -1.0, 4.0, 0.0)
GAINS = (1.0, 2.0, 0.5, 1.0)

HIDDEN, TOKENS = 896, 256
"""Of Qwen2-0.5B, from its config.json, and of a prompt."""


def one_row() -> dict[str, Any]:
    """Add and normalise a row of four, without eps."""
    total = [x + r for x, r in zip(X, RESIDUAL, strict=True)]
    squares = [one * one for one in total]
    root = math.sqrt(sum(squares) / len(total))
    y = [one / root * gain for one, gain in zip(total, GAINS, strict=True)]
    return {
        "x": X,
        "residual": RESIDUAL,
        "gains": GAINS,
        "total": total,
        "squares": squares,
        "sum": sum(squares),
        "mean": sum(squares) / len(total),
        "root": root,
        "y": y,
    }


def angles(position: int = 32767, base: float = 1e6, width: int = 64) -> dict[str, Any]:
    """See how far an angle in float32, and one in float16, is off late in a text."""
    pair = 1
    exact = position * base ** (-2 * pair / width)
    frequency = np.power(np.float32(base), np.float32(-2 * pair / width))
    in_float32 = np.float32(position) * np.float32(frequency)
    in_float16 = float(position) * float(np.float16(frequency))
    return {
        "position": position,
        "exact": exact,
        "float32": float(in_float32),
        "spacing": float(np.spacing(in_float32)),
        "off_float32": abs(float(in_float32) - exact),
        "off_float16": abs(in_float16 - exact),
        "table_mb": (position + 1) * width / 2 * 2 * 4 / 1e6,
    }


def moments(size: float = 10_000) -> dict[str, Any]:
    """Find the variance of numbers one below and one above a size, in one pass."""
    numbers = np.array([size - 1, size + 1], np.float32)
    mean = numbers.mean()
    squares = (numbers * numbers).mean()
    return {
        "size": size,
        "squares": float(squares),
        "mean_squared": float(mean * mean),
        "in_one_pass": float(squares - mean * mean),
        "exact": 1,
        "spacing": float(np.spacing(squares)),
    }


def passes() -> dict[str, Any]:
    """Count how often the rows of a sum and its norm are read and written."""
    plain = {"add": (2, 1), "square": (1, 1), "sum": (1, 0), "scale": (1, 1)}
    plain["gain"] = (1, 1)
    reads, writes = (sum(one[i] for one in plain.values()) for i in range(2))
    mb = HIDDEN * TOKENS * 4 / 1e6
    return {
        "reads": reads,
        "writes": writes,
        "plain": reads + writes,
        "fused": 4,
        "mb": mb,
        "plain_mb": (reads + writes) * mb,
        "fused_mb": 4 * mb,
    }
