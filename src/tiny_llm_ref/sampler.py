"""Choosing the next token: greedy, or at random among the likely ones."""

import secrets
from collections.abc import Callable, Mapping, Sequence
from typing import cast

import mlx.core as mx
import numpy as np
from jaxtyping import Float, Integer
from numpy.typing import NDArray

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
    wide = logits.astype(mx.float32)
    log_p = wide - mx.logsumexp(wide, axis=-1, keepdims=True)
    return [
        TokenLogprob(token, float(row[token]), _likeliest(row, num_top))
        for row, token in zip(np.array(log_p), tokens, strict=True)
    ]


def _likeliest(
    log_p: NDArray[np.float32], num_top: int
) -> tuple[tuple[int, float], ...]:
    """Return the likeliest tokens and their log-probabilities, the likeliest first."""
    num_top = min(num_top, len(log_p))
    some = np.argpartition(-log_p, num_top - 1)[:num_top] if num_top else ()
    pairs = ((int(token), float(log_p[token])) for token in some)
    return tuple(sorted(pairs, key=lambda pair: -pair[1]))


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
        self._params = params

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
        params, changed = self._params, logits.astype(mx.float32)
        if params.repetition_penalty != 1:
            has_been = _counts([*prompt, *output], len(logits)) > 0
            rate = params.repetition_penalty
            lower = mx.where(changed > 0, changed / rate, changed * rate)
            changed = mx.where(has_been, lower, changed)
        if output and (params.presence_penalty or params.frequency_penalty):
            counts = _counts(output, len(logits))
            changed = changed - params.presence_penalty * (counts > 0)
            changed = changed - params.frequency_penalty * counts
        return _biased(changed, params.logit_bias).astype(logits.dtype)


def _counts(tokens: Sequence[int], num_tokens: int) -> Float[mx.array, " V"]:
    """Return how often each id of the vocabulary stands among some tokens."""
    return mx.zeros(num_tokens).at[mx.array(list(tokens), mx.int32)].add(1.0)


def _biased(
    logits: Float[mx.array, " V"], bias: Mapping[int, float]
) -> Float[mx.array, " V"]:
    """Add to the logits of single tokens."""
    if not bias:
        return logits
    strange = [token for token in bias if not 0 <= token < len(logits)]
    if strange:
        raise ValueError(
            f"logit_bias: expected tokens from 0 to {len(logits) - 1}, got {strange[0]}"
        )
    return logits.at[mx.array(list(bias))].add(mx.array(list(bias.values())))


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
        seed = secrets.randbits(64) if params.seed is None else params.seed
        self._params = params
        self._processors = LogitsProcessors(params)
        self._key = mx.random.key(seed % 2**64)

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
        token = self._chosen(self._processors(logits, prompt, output))
        num_top = self._params.logprobs
        if num_top is None:
            return Sampled(token)
        return Sampled(token, token_logprobs(logits[None], [token], num_top)[0])

    def _chosen(self, logits: Float[mx.array, " V"]) -> int:
        """Take the likeliest token, or draw one."""
        params = self._params
        if params.temperature == 0:
            return cast("int", mx.argmax(logits).item())
        kept = logits.astype(mx.float32)[None]
        if params.top_k:
            kept = _keep_top_k(kept, params.top_k)
        if 0 < params.top_p < 1:
            kept = _keep_top_p(kept, params.top_p)
        self._key, now = mx.random.split(self._key)
        drawn = mx.random.categorical(kept / params.temperature, key=now)
        return cast("int", drawn.item())
