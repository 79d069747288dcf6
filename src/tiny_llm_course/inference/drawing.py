"""A model that samples its own tokens, for a loop that takes the likeliest."""

from collections.abc import Callable
from typing import Any

import mlx.core as mx


class DrawingModel:
    """A model whose likeliest token is the one that a sampler has drawn.

    The loop of Week 2 takes no sampler. It gets logits that give the drawn token all of
    the probability.

    Args:
        model: Called with token ids 1 x L, an offset and caches. Returns 1 x L x V.
        sampler: Maps log-probabilities 1 x V to a token id (1,).
    """

    def __init__(
        self,
        model: Any,  # noqa: ANN401 - of a solution
        sampler: Callable[[mx.array], mx.array],
    ) -> None:
        self.num_hidden_layers = model.num_hidden_layers
        self._model = model
        self._sampler = sampler

    def __call__(self, inputs: mx.array, *more: Any, **named: Any) -> mx.array:  # noqa: ANN401
        """Draw the token after the last of `inputs`, all other logits being -inf."""
        logits = self._model(inputs, *more, **named)
        last = logits[:, -1].astype(mx.float32)
        drawn = self._sampler(last - mx.logsumexp(last, axis=-1, keepdims=True))
        is_drawn = mx.arange(logits.shape[-1]) == drawn[:, None, None]
        return mx.broadcast_to(mx.where(is_drawn, 0.0, -mx.inf), logits.shape)
