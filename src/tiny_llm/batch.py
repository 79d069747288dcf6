"""Generating several texts at once, each in a row of a batch."""

from collections import deque
from collections.abc import Sequence
from typing import Any

import mlx.core as mx
from jaxtyping import Integer

from tiny_llm_course import todo

from .kv_cache import BatchingKvCache, TinyKvFullCache


def batch_generate(
    model: Any,  # noqa: ANN401 - a model of Week 3, of whatever solution
    tokenizer: Any,  # noqa: ANN401 - mlx_lm has no types
    prompts: Sequence[str],
    max_seq_len: int = 512,
    batch_size: int = 5,
    prefill_step: int = 128,
) -> list[str]:
    """Continue all prompts with the likeliest tokens, several of them in each step.

    A prompt is read alone, and then takes a slot: a row of the batch. Each step gives
    every row a token. A text that has ended leaves its slot to the next prompt at once,
    while the others go on.

    Args:
        model: Called with token ids B x L, the position of the first of them in each
            row, one cache per layer, and `logits_to_keep`. Has `num_hidden_layers`
            and `create_kv_cache`.
        tokenizer: As in `simple_generate`.
        prompts: The texts to continue. The end tokens in them end nothing.
        max_seq_len: The most tokens that a prompt and its answer may have together.
        batch_size: The number of slots.
        prefill_step: The most tokens of a prompt that the model is shown at once.

    Returns:
        One text for each prompt, in their order, without prompts and end tokens.

    Raises:
        ValueError: A prompt holds no token, or so many that there is no room for
            another.
    """
    todo("week 3, day 1, task 4")
