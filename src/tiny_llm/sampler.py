"""Choosing the next token: greedy, or at random among the likely ones."""

from collections.abc import Callable

import mlx.core as mx
from jaxtyping import Float, Integer

from tiny_llm_course import todo


def make_sampler(
    temp: float, top_p: float | None, top_k: int | None
) -> Callable[[Float[mx.array, "N V"]], Integer[mx.array, " N"]]:
    """Build a function that draws one token id per row of log-probabilities.

    In this order: keep the `top_k` likeliest tokens; of these, the likeliest whose
    probabilities first add up to `top_p`; draw from softmax(log p / temp) of what
    is left.

    Args:
        temp: Below 1 sharpens, above 1 flattens the distribution. 0 is greedy.
        top_p: Probability to keep, as a share of what `top_k` left. The token that
            crosses it stays. None, 0 or 1 keeps all.
        top_k: Number of tokens to keep. None or 0 keeps all, as does V or more.

    Raises:
        ValueError: `temp` or `top_k` is negative, or `top_p` is not from 0 to 1.

    Source: Fan et al. 2018 (arXiv:1805.04833), section 5, for top-k; Holtzman et
        al. 2020 (arXiv:1904.09751), section 3.1, for top-p.
    """
    todo("week 1, day 7, task 1")
