"""The embedded model as the book measures it: loaded once, in float32 everywhere."""

import functools
from collections.abc import Sequence

import mlx.core as mx

from tiny_llm_course import checkpoint as checkpoints
from tiny_llm_course.checkpoint import LoadedCheckpoint
from tiny_llm_course.grading.scenarios import architecture
from tiny_llm_course.grading.scenarios.architecture import Architecture, Weights, under
from tiny_llm_course.inference.engine import without_torch


@functools.cache
def checkpoint() -> LoadedCheckpoint:
    """Load the model and its tokenizer.

    On a GPU the weights would be bfloat16, which would change the book's numbers.
    """
    with without_torch():
        loaded = checkpoints.load()
    loaded.model.set_dtype(mx.float32)
    return loaded


def sizes() -> Architecture:
    """Return the model's sizes: numbers of layers and heads, widths."""
    return _sizes_and_weights()[0]


def head_dim() -> int:
    """Return the width D of a head."""
    return sizes().hidden_size // sizes().num_attention_heads


def weights(prefix: str = "") -> Weights:
    """Return the weights whose names begin with `prefix`, without it."""
    return under(prefix, _sizes_and_weights()[1])


def token_ids(text: str) -> list[int]:
    """Return the ids of the tokens of a text."""
    return checkpoint().tokenizer.encode(text)


def tokens(ids: Sequence[int]) -> list[str]:
    """Return each token as the text that it stands for, with its spaces."""
    return [checkpoint().tokenizer.decode([one]) for one in ids]


@functools.cache
def _sizes_and_weights() -> tuple[Architecture, Weights]:
    """Read both from the checkpoint's files."""
    return architecture.embedded()
