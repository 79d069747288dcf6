"""The table that turns token ids into vectors, and vectors back into scores."""

import mlx.core as mx
from jaxtyping import Float, Integer

from tiny_llm_course import todo

from .basics import linear


class Embedding:
    """Hold one vector per token of the vocabulary.

    Args:
        vocab_size: Number V of tokens.
        embedding_dim: Width E of a vector.
        weight: The table, one row per token id.

    Raises:
        ValueError: `weight` has another shape than V x E.
    """

    def __init__(
        self, vocab_size: int, embedding_dim: int, weight: Float[mx.array, "V E"]
    ) -> None:
        todo("week 1, day 5, task 2")

    def __call__(self, x: Integer[mx.array, "*N"]) -> Float[mx.array, "*N E"]:
        """Look up the vector of every token id.

        Args:
            x: Token ids from 0 to V - 1. MLX does not check them: an id outside
                reads whatever lies there.
        """
        todo("week 1, day 5, task 2")

    def as_linear(self, x: Float[mx.array, "*N E"]) -> Float[mx.array, "*N V"]:
        """Score every token of the vocabulary by its dot product with `x`.

        The table at work as the last layer of the model ("tied" weights).

        Source: Press and Wolf 2017 (arXiv:1608.05859), section 3.
        """
        todo("week 1, day 5, task 2")
