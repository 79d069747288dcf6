"""What share of many draws falls on each token, and how far chance may move it."""

import mlx.core as mx
import numpy as np
import torch
from numpy.typing import NDArray

NUM_DRAWS = 8000
"""Draws per distribution: enough to see a share that is wrong by 0.03."""


def repeated_rows(rows: list[list[float]]) -> mx.array:
    """Return log-probabilities N x V in which the rows take turns, NUM_DRAWS times."""
    return mx.tile(mx.log(mx.array(rows)), (NUM_DRAWS, 1))


def shares(
    rows: list[list[float]], temp: float, kept: list[set[int]]
) -> NDArray[np.float64]:
    """Return the probability of each token in each row.

    Args:
        rows: Probabilities, one row per distribution.
        temp: Temperature. At 0, all falls on the likeliest of the kept tokens.
        kept: The tokens of each row that may be drawn.
    """
    scores = torch.tensor(rows, dtype=torch.float64).log()
    allowed = torch.zeros_like(scores)
    for row, tokens in zip(allowed, kept, strict=True):
        row[list(tokens)] = 1.0
    scores = scores.masked_fill(allowed == 0, -torch.inf)
    if temp == 0:
        return (
            torch.nn.functional.one_hot(scores.argmax(-1), len(rows[0])).numpy() * 1.0
        )
    return (scores / temp).softmax(-1).numpy()
