"""A model that limits and times the loop that calls it."""

import itertools
import time
from collections.abc import Callable
from typing import Any

import mlx.core as mx

from tiny_llm_course.inference.blame import SolutionError


class MeteredModel:
    """A model that limits and times the loop that calls it.

    A generation loop stops at the end token and at nothing else. After `limit` calls
    that token alone has a probability, which ends the text whatever the sampler.

    Args:
        model: From token ids 1 x L to logits 1 x L x V. One with caches is called with
            the position of the first id and with the caches, too.
        end_token: The id that ends a text.
        limit: How many tokens the loop may have.
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
            raise SolutionError(
                "the generation loop goes on after the end token; it has to stop at "
                "the tokenizer's eos_token_id"
            )
        is_end = mx.arange(self._vocab_size) == self._end_token
        logits = mx.where(is_end, 0.0, -mx.inf)
        return mx.broadcast_to(logits, (*inputs.shape, self._vocab_size))

    @property
    def num_calls(self) -> int:
        """How often the loop has asked for a token."""
        return len(self._called_at_s)

    @property
    def is_over(self) -> bool:
        """Whether the loop has had all its tokens."""
        return self.num_calls > self._limit

    def steps_s(self) -> list[float]:
        """Return how long each token took: the first since the start, the last to now.

        From call to call, because MLX computes when the sampler looks at the scores,
        not when the model is called.
        """
        times_s = [self._made_at_s, *self._called_at_s[1:], time.perf_counter()]
        steps_s = [later - earlier for earlier, later in itertools.pairwise(times_s)]
        return steps_s[: self._limit]
