"""Choosing the next token: greedy, or at random among the likely ones."""

import secrets
from collections.abc import Callable, Mapping, Sequence
from typing import cast

import mlx.core as mx
import numpy as np
from jaxtyping import Float, Integer
from numpy.typing import NDArray

from tiny_llm_course import todo

from .request import Sampled, SamplingParams, TokenLogprob


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


def token_logprobs(
    logits: Float[mx.array, "K V"], tokens: Sequence[int], num_top: int
) -> list[TokenLogprob]:
    """Tell how likely tokens are, by the logits of the model as they are.

        log p = logits - log(sum(exp(logits) over V))

    The sum is accumulated in float32 whatever the dtype of the logits. The entry of a
    token and that of the same token among the likeliest are the same number. All
    numbers are Python's own, which JSON can write.

    Args:
        logits: What the model says of each place.
        tokens: The token that stands there, one per row.
        num_top: How many of the likeliest to report besides. V or more reports all.
    """
    todo("week 3, day 5, task 4")


class LogitsProcessors:
    """Change the logits of a request before its next token is chosen.

    In this order, z being the logit of a token:

        z = z / repetition_penalty   if z > 0, else   z * repetition_penalty
        z = z - presence_penalty - frequency_penalty * count
        z = z + logit_bias[token]

    The first is for tokens that stand in the prompt or the output, the second for those
    in the output, `count` times.

    Args:
        params: Has the penalties and the bias.

    Source: Keskar et al. 2019 (arXiv:1909.05858), section 4.1, for the first, which
        divides negative logits as well, so that these tokens become likelier.
    """

    def __init__(self, params: SamplingParams) -> None:
        todo("week 3, day 5, task 3")

    def __call__(
        self,
        logits: Float[mx.array, " V"],
        prompt: Sequence[int],
        output: Sequence[int],
    ) -> Float[mx.array, " V"]:
        """Return the changed logits, in the same dtype.

        Args:
            logits: Of the next token. They are not changed in place.
            prompt: The tokens that were asked with.
            output: The tokens that were generated since.

        Raises:
            ValueError: There is a bias for a token that does not exist.
        """
        todo("week 3, day 5, task 3")


class RequestSampler:
    """Choose the tokens of one request, with random numbers of its own.

    What is drawn depends on the logits, the parameters and the seed, and on nothing
    that others draw in between. The logits go through `LogitsProcessors`, then top-k,
    top-p and temperature, as in `make_sampler`. Log-probabilities are those of the
    logits before all that.

    Args:
        params: How to choose. Without a seed, each sampler draws differently.
    """

    def __init__(self, params: SamplingParams) -> None:
        todo("week 3, day 5, task 4")

    def __call__(
        self,
        logits: Float[mx.array, " V"],
        prompt: Sequence[int],
        output: Sequence[int],
    ) -> Sampled:
        """Choose the next token.

        Args:
            logits: What the model says of it.
            prompt: The tokens that were asked with.
            output: The tokens that were generated since.

        Returns:
            The token, with its log-probability and those of the likeliest tokens if the
            parameters ask for them.
        """
        todo("week 3, day 5, task 4")
