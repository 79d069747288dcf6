"""Generating text: ask the model for the next token, append it, ask again."""

from collections.abc import Callable
from typing import Any

import mlx.core as mx
from jaxtyping import Float, Integer

from tiny_llm_course import todo

Model = Callable[[Integer[mx.array, "1 L"]], Float[mx.array, "1 L V"]]
Sampler = Callable[[Float[mx.array, "1 V"]], Integer[mx.array, " 1"]]


def simple_generate(
    model: Model,
    tokenizer: Any,  # noqa: ANN401 - mlx_lm has no types
    prompt: str,
    sampler: Sampler | None,
) -> str:
    """Continue `prompt` until the model says that it has finished.

    Each step runs the model on the whole text so far and looks at the last position
    only: the scores of the token that comes next. The text is printed as it grows.

    Args:
        model: From token ids 1 x L to logits 1 x L x V.
        tokenizer: What `mlx_lm` loads beside the model. Its `detokenizer` turns a
            stream of ids into text, although a character may span several tokens.
        prompt: The text to continue. The end tokens in it, as in a chat, end nothing.
        sampler: From log-probabilities 1 x V to the token id (1,). None takes the
            likeliest token.

    Returns:
        The text that was generated, without the prompt and without the end token.

    Raises:
        ValueError: The prompt holds no token.
    """
    todo("week 1, day 6, task 1")


def simple_generate_with_kv_cache(
    model: Any,  # noqa: ANN401 - a model of Week 2, of whatever solution
    tokenizer: Any,  # noqa: ANN401 - mlx_lm has no types
    prompt: str,
) -> str:
    """Continue `prompt` with the likeliest tokens, computing each token only once.

    The first step shows the model the whole prompt, every later one the newest token
    alone: what came before is in the caches. The text is printed as it grows.

    Args:
        model: Called with token ids 1 x L, the position of the first of them, and one
            cache per layer; it returns logits 1 x L x V. Has `num_hidden_layers`.
        tokenizer: As in `simple_generate`.
        prompt: The text to continue. The end tokens in it, as in a chat, end nothing.

    Returns:
        The text that was generated, without the prompt and without the end token.

    Raises:
        ValueError: The prompt holds no token.
    """
    todo("week 2, day 1, task 4")
