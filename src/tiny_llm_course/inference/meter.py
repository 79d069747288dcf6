"""A model that limits and times the loop that calls it."""

import itertools
import time
from collections.abc import Callable
from typing import Any

import mlx.core as mx

from tiny_llm_course.catalogue import say
from tiny_llm_course.inference.blame import SolutionError


class MeteredModel:
    """A model that limits and times the loop that calls it.

    A generation loop stops only at the end token. After `limit` calls, that token gets
    all of the probability, which ends the text with any sampler.

    Args:
        model: Maps token ids 1 x L to logits 1 x L x V. A model with caches also gets
            the position of the first id and the caches.
        end_token: The id that ends a text.
        limit: How many tokens the loop may generate.
    """

    def __init__(
        self, model: Callable[..., mx.array], end_token: int, limit: int
    ) -> None:
        self._model = model
        self._end_token = end_token
        self._limit = limit
        self._vocab_size = 0
        self.num_hidden_layers = getattr(model, "num_hidden_layers", 0)
        self._made_at_s = time.perf_counter()
        self._called_at_s: list[float] = []
        self.ids = mx.array([], mx.int32)

    def __call__(
        self,
        inputs: mx.array,
        offset: int = 0,
        *caches: Any,  # noqa: ANN401 - of the solution, handed on
        **named: Any,  # noqa: ANN401
    ) -> mx.array:
        """Score the token after each of `inputs`, or end the text."""
        self._called_at_s.append(time.perf_counter())
        self.ids = mx.concatenate([self.ids[:offset], inputs[0]])
        if not self.is_over:
            more = (offset, *caches) if caches or named else ()
            logits = self._model(inputs, *more, **named)
            self._vocab_size = logits.shape[-1]
            return logits
        if self.num_calls > self._limit + 1:
            raise SolutionError(say("commands.talking.endless"))
        is_end = mx.arange(self._vocab_size) == self._end_token
        logits = mx.where(is_end, 0.0, -mx.inf)
        return mx.broadcast_to(logits, (*inputs.shape, self._vocab_size))

    @property
    def num_calls(self) -> int:
        """The number of tokens that the loop has asked for."""
        return len(self._called_at_s)

    @property
    def is_over(self) -> bool:
        """Whether the limit is reached."""
        return self.num_calls > self._limit

    def steps_s(self) -> list[float]:
        """Return the time of each token: the first from the start, the last until now.

        Times run from call to call, because MLX computes when the sampler reads the
        logits, not when the model is called.
        """
        times_s = [self._made_at_s, *self._called_at_s[1:], time.perf_counter()]
        steps_s = [later - earlier for earlier, later in itertools.pairwise(times_s)]
        return steps_s[: self._limit]
