"""Choosing the next token: greedy, or at random among the likely ones."""

from collections.abc import Callable

import mlx.core as mx
from jaxtyping import Float, Integer


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
    if temp < 0:
        raise ValueError(f"make_sampler: expected a temp of 0 or more, got {temp}")
    if top_p is not None and not 0 <= top_p <= 1:
        raise ValueError(f"make_sampler: expected a top_p from 0 to 1, got {top_p}")
    if top_k is not None and top_k < 0:
        raise ValueError(f"make_sampler: expected a top_k of 0 or more, got {top_k}")

    def sample(log_probabilities: Float[mx.array, "N V"]) -> Integer[mx.array, " N"]:
        if temp == 0:
            return mx.argmax(log_probabilities, axis=-1)
        kept = log_probabilities
        if top_k:
            kept = _keep_top_k(kept, top_k)
        if top_p and top_p < 1:
            kept = _keep_top_p(kept, top_p)
        return mx.random.categorical(kept / temp)

    return sample


def _keep_top_k(
    log_probabilities: Float[mx.array, "N V"], top_k: int
) -> Float[mx.array, "N V"]:
    """Set all but the `top_k` likeliest tokens of each row to -inf."""
    if top_k >= log_probabilities.shape[-1]:
        return log_probabilities
    dropped = mx.argpartition(-log_probabilities, top_k - 1, axis=-1)[:, top_k:]
    return mx.put_along_axis(log_probabilities, dropped, mx.array(-mx.inf), axis=-1)


def _keep_top_p(
    log_probabilities: Float[mx.array, "N V"], top_p: float
) -> Float[mx.array, "N V"]:
    """Set all but the likeliest tokens that make up `top_p` of each row to -inf."""
    order = mx.argsort(-log_probabilities, axis=-1)
    likeliest_first = mx.take_along_axis(log_probabilities, order, axis=-1)
    probabilities = mx.softmax(likeliest_first.astype(mx.float32), axis=-1)
    before = mx.cumsum(probabilities, axis=-1, inclusive=False)
    kept = mx.where(before < top_p, likeliest_first, -mx.inf)
    return mx.put_along_axis(log_probabilities, order, kept, axis=-1)
