"""A group of eight weights and eight activations, in floats and in integers."""

from typing import Any

import numpy as np

WEIGHTS = (15, 6, 9, 8, 0, 11, 12, 3)
"""The integers of Day 3's example. Its scale and bias follow."""

SCALE, BIAS = 0.1, -0.8
X = (1.9, -0.653, 0.4, 2.54, -1.1, 0.017, 0.0, 0.748)


def group_of_eight() -> dict[str, Any]:
    """Round the activations, and take the sum apart."""
    x, q = np.array(X), np.array(WEIGHTS)
    step = np.abs(x).max() / 127
    rounded = np.rint(x / step).astype(int)
    weights = SCALE * q + BIAS
    dot = int(q @ rounded)
    return {
        "x": list(X),
        "q": list(WEIGHTS),
        "largest": float(np.abs(x).max()),
        "step": float(step),
        "places": (x / step).tolist(),
        "rounded": rounded.tolist(),
        "products": (q * rounded).tolist(),
        "dot": dot,
        "sum": int(rounded.sum()),
        "scaled": float(SCALE * step * dot),
        "shifted": float(BIAS * step * rounded.sum()),
        "y": float(SCALE * step * dot + BIAS * step * rounded.sum()),
        "exact": float(weights @ x),
        "with_exact_sum": float(SCALE * step * dot + BIAS * x.sum()),
    }
