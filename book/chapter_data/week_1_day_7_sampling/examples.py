"""How often a sampler draws each token, for the examples of known mistakes."""

from typing import Any

import mlx.core as mx
import numpy as np

ROW = (0.1, 0.4, 0.05, 0.3, 0.15)
"""Probabilities of five tokens, not in the order of their size."""

NUM_DRAWS = 10_000


def shares(sampler: Any, *rows: tuple[float, ...]) -> mx.array:  # noqa: ANN401
    """Return the share of each token in many draws, one row for each of `rows`."""
    mx.random.seed(7)
    drawn = sampler(mx.tile(mx.log(mx.array(rows)), (NUM_DRAWS, 1)))
    ids = np.array(drawn).reshape(NUM_DRAWS, len(rows))
    counts = [np.bincount(column, minlength=len(rows[0])) for column in ids.T]
    return mx.array(np.round(np.array(counts) / NUM_DRAWS, 2))


def examples() -> dict[str, Any]:
    """Return what the examples may call."""
    return {"shares": shares, "row": ROW, "other": ROW[::-1]}
