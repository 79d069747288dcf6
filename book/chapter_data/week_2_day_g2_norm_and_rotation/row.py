"""The row of the interactive figure."""

from typing import Any

import numpy as np

COUNT, LANES, GROUPS = 24, 4, 2


def figure_data() -> dict[str, Any]:
    """Draw a row and what is added to it, with one decimal."""
    rng = np.random.default_rng(0)
    x, residual = np.round(rng.normal(0.0, 2.0, (2, COUNT)), 1)
    return {
        "x": x.tolist(),
        "residual": residual.tolist(),
        "lanes": LANES,
        "groups": GROUPS,
        "eps": 1e-6,
    }
