"""The Qwen2 model for several texts at once."""

import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import mlx.core as mx
from jaxtyping import Float, Integer

from tiny_llm_course import todo

from .basics import linear
from .kv_cache import TinyKvCache, TinyKvFullCache
from .quantize import QuantizedWeights, quantized_linear
from .qwen2_week2 import (
    Qwen2ModelWeek2,
    Qwen2MultiHeadAttention,
    Qwen2TransformerBlock,
)


class Qwen2ModelWeek3:
    """The whole model, for rows of a batch that each stand at a place of their own.

    Attributes:
        num_hidden_layers: Number of layers, and so of the caches that it needs.

    Args:
        mlx_model: As for Week 1.
        enable_flash_attn: As for Week 2.
    """

    def __init__(self, mlx_model: Any, enable_flash_attn: bool = False) -> None:  # noqa: ANN401
        todo("week 3, day 1, task 3")

    def __call__(
        self,
        inputs: Integer[mx.array, "B L"],
        offset: int | Sequence[int],
        cache: Sequence[TinyKvCache],
        logits_to_keep: int | None = None,
    ) -> Float[mx.array, "B K V"]:
        """Score the next token after each of the last K new tokens.

        Args:
            inputs: Ids of the L tokens that are new in each row.
            offset: Position of the first of them: how many tokens came before. One for
                all rows, or one for each.
            cache: One cache per layer, with the tokens that came before. The new ones
                are added.
            logits_to_keep: How many positions K to score, from the end. At least 1.
                None scores all L.

        Returns:
            Logits: what softmax turns into the probability of each next token.

        Raises:
            ValueError: There is not one cache per layer.
        """
        todo("week 3, day 1, task 3")

    def create_kv_cache(self) -> list[TinyKvFullCache]:
        """Return empty caches for one text, one for each layer."""
        todo("week 3, day 1, task 3")


def run_pieces(
    model: Qwen2ModelWeek3,
    pieces: Sequence[Sequence[int]],
    caches: Sequence[Sequence[TinyKvCache]],
    logits_to_keep: int | Sequence[int] = 1,
) -> Float[mx.array, "K V"]:
    """Compute the new tokens of several texts in one step: of each as many as it has.

    All new tokens stand in one row, text after text, so none is filled up to the length
    of another. Products, norms and the MLP take the whole row, and read each weight
    once. Only the attention goes text by text: its tokens see those in the text's own
    caches and those before them in the piece.

    What the step computes is evaluated when it returns, also where no logits are asked
    for. Otherwise a long prompt would leave the graph of all its pieces behind.

    Args:
        model: The model, whose parts do the work.
        pieces: The ids of each text's new tokens, one at least.
        caches: For each text one cache per layer, with the tokens that came before. The
            new ones are added.
        logits_to_keep: How many positions of each text to score, from the end of its
            piece: one number for all, or one for each. 0 scores none.

    Returns:
        Logits: those of the first text's positions, in order, then those of the second,
        and so on. K is how many there are in all.

    Raises:
        ValueError: A text has no new token, or not one cache per layer.
    """
    todo("week 3, day 2, task 3")
