"""Generating text: ask the model for the next token, append it, ask again."""

import itertools
from collections.abc import Callable, Set
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


def speculative_generate(
    draft_model: Any,  # noqa: ANN401 - a model of Week 3, of whatever solution
    model: Any,  # noqa: ANN401 - likewise
    draft_tokenizer: Any,  # noqa: ANN401 - mlx_lm has no types
    tokenizer: Any,  # noqa: ANN401
    prompt: str,
    proposal_length: int = 4,
) -> str:
    """Continue `prompt` as `model` would alone, in fewer of its steps.

    A small model proposes some tokens, one after the other. The large one reads them
    all in a single step, in which its weights are read once, and keeps those that it
    would have chosen itself, and the one that it chooses after them. What was not kept
    is forgotten by the caches of both. The text is printed as it grows.

    Args:
        draft_model: Proposes. Called with token ids 1 x L, the position of the first of
            them, and one cache per layer; returns logits 1 x L x V. Has
            `num_hidden_layers`.
        model: Decides. Called in the same way.
        draft_tokenizer: Has to give texts the same ids as `tokenizer`.
        tokenizer: As in `simple_generate`.
        prompt: The text to continue. The end tokens in it, as in a chat, end nothing.
        proposal_length: How many tokens are proposed for each step of `model`.

    Returns:
        The text that was generated, without the prompt and without the end token.

    Raises:
        ValueError: The prompt holds no token, the tokenizers differ on it, or nothing
            is to be proposed.

    Source: Leviathan et al. 2023 (arXiv:2211.17192), section 2, for greedy decoding.
    """
    todo("week 3, day 7, task 4")
