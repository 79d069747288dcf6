"""What RMSNorm and its relatives make of two small tokens."""

import math
from collections.abc import Sequence
from typing import Any

import mlx.core as mx
import numpy as np

from tiny_llm_ref.layer_norm import RMSNorm

from .writing import listed

TOKEN_A = (-1, 5, 7, 5)
TOKEN_B = (3, -1, 1, 5)


def rms_norm(x: Sequence[float], eps: float = 0.0) -> mx.array:
    """Run the norm of the course with a gain of one."""
    return RMSNorm(len(x), mx.ones(len(x)), eps)(mx.array(x, dtype=mx.float32))


def standardised(x: np.ndarray, axis: int | tuple[int, ...]) -> np.ndarray:
    """Subtract the mean and divide by the standard deviation, both over `axis`."""
    spread = x.std(axis=axis, keepdims=True)
    centred = x - x.mean(axis=axis, keepdims=True)
    return np.divide(centred, spread, out=np.zeros_like(centred), where=spread > 0)


def one_vector() -> dict[str, Any]:
    """Take one vector through RMSNorm, step by step."""
    squares = [value**2 for value in TOKEN_A]
    mean_square = sum(squares) / len(squares)
    gain = (1, 2, 0.5, 1)
    unit = rms_norm(TOKEN_A)
    return {
        "token_a": listed(TOKEN_A),
        "squares": " + ".join(map(str, squares)),
        "sum_of_squares": sum(squares),
        "mean_square": f"{mean_square:g}",
        "rms": f"{math.sqrt(mean_square):g}",
        "unit": listed(unit),
        "gain": listed(gain),
        "gained": listed(unit * mx.array(gain)),
    }


def eps_by_hand() -> dict[str, Any]:
    """Normalise a small vector with eps in the right place, and without it."""
    small, eps = (3e-4, -4e-4), 1e-6
    mean_square = sum(value**2 for value in small) / 2
    return {
        "small_mean_square": f"{mean_square * 1e6:.3f}",
        "small_total": f"{(mean_square + eps) * 1e6:.3f}",
        "small_root": f"{math.sqrt(mean_square + eps) * 1e3:.4f}",
        "small_normed": listed(rms_norm(small, eps), 3),
        "small_without": listed(rms_norm(small), 3),
        "root_of_eps": f"{math.sqrt(eps):g}",
        "one_less": round(1 / (math.sqrt(896 / 895) - 1)),
    }


def four_norms() -> dict[str, Any]:
    """Normalise the same two tokens in four ways."""
    both = np.array([TOKEN_A, TOKEN_B], dtype=float)
    layer = standardised(both, 1)
    group = standardised(both.reshape(2, 2, 2), 2).reshape(2, 4)
    other = np.array([TOKEN_A, (-3, -1, 1, 5)], dtype=float)
    return {
        "token_b": listed(TOKEN_B),
        "mean_a": f"{both[0].mean():g}",
        "std_a": f"{both[0].std():g}",
        "variance_a": f"{both[0].var():g}",
        "centred_a": listed(both[0] - both[0].mean()),
        "norms": {
            "batch": [listed(row, 3) for row in standardised(both, 0)],
            "group": [listed(row, 3) for row in group],
            "layer": [listed(row, 3) for row in layer],
            "rms": [listed(rms_norm(row), 3) for row in (TOKEN_A, TOKEN_B)],
        },
        "group_mean": f"{both[0, :2].mean():g}",
        "group_std": f"{both[0, :2].std():g}",
        "channel_mean": f"{both[:, 0].mean():g}",
        "channel_std": f"{both[:, 0].std():g}",
        "batch_before": f"{standardised(both, 0)[0, 0]:g}",
        "batch_after": f"{standardised(other, 0)[0, 0]:g}",
    }


def moved() -> dict[str, Any]:
    """Rescale and shift the vector of the example."""
    shifted = tuple(value + 10 for value in TOKEN_A)
    scaled = tuple(value * 10 for value in TOKEN_A)
    mean_square = sum(value**2 for value in shifted) / len(shifted)
    return {
        "scaled": listed(scaled),
        "scaled_root": f"{np.sqrt(np.mean(np.square(scaled))):g}",
        "scaled_rms": listed(rms_norm(scaled)),
        "shifted": listed(shifted),
        "shifted_root": f"{math.sqrt(mean_square):.3f}",
        "shifted_rms": listed(rms_norm(shifted), 3),
        "shifted_layer": listed(standardised(np.array(shifted, dtype=float), 0), 3),
        "shifted_mean": f"{np.mean(shifted):g}",
    }
