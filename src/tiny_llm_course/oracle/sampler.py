"""What share of many draws falls on each token, and how far chance may move it."""

import mlx.core as mx
import numpy as np
from numpy.typing import NDArray

NUM_CALLS = 40
"""How often to draw. 8000 draws per distribution show a share that is wrong by 0.03."""

DRAWS_PER_CALL = 200
"""Draws from each distribution in one call.

A learner who masks `x[:, dropped]` with N rows of dropped tokens does N x N x V work,
and did not return within a minute when all draws were made in one call.
"""


def repeated_rows(rows: list[list[float]]) -> mx.array:
    """Return log-probabilities in which the rows take turns, DRAWS_PER_CALL times."""
    return mx.tile(mx.log(mx.array(rows)), (DRAWS_PER_CALL, 1))


def shares(
    rows: list[list[float]], temp: float, kept: list[set[int]]
) -> NDArray[np.float64]:
    """Return the probability of each token in each row.

    Args:
        rows: Probabilities, one row per distribution.
        temp: Temperature. At 0, all falls on the likeliest of the kept tokens.
        kept: The tokens of each row that may be drawn.
    """
    import torch  # the numbers above are needed without it

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
