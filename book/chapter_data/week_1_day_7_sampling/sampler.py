"""The distribution that the sampler of the course draws from."""

from unittest import mock

import mlx.core as mx

from tiny_llm_ref.basics import softmax
from tiny_llm_ref.sampler import make_sampler


def sampled(
    log_probabilities: mx.array,
    temp: float,
    top_p: float | None = None,
    top_k: int | None = None,
) -> mx.array:
    """Return the probabilities that the sampler of the course draws from.

    Args:
        log_probabilities: N x V.
        temp: As in `make_sampler`, like the next two. More than 0.
        top_p: Probability to keep.
        top_k: Number of tokens to keep.
    """
    # What would go into the draw comes out instead.
    with mock.patch.object(mx.random, "categorical", side_effect=lambda scores: scores):
        return softmax(make_sampler(temp, top_p, top_k)(log_probabilities), axis=-1)


def num_kept(shares: mx.array) -> int:
    """Count the tokens that can still be drawn."""
    return int(mx.sum(shares > 0).item())
