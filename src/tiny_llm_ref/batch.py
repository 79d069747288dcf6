"""Generating several texts at once, each in a row of a batch."""

from collections import deque
from collections.abc import Sequence
from typing import Any

import mlx.core as mx
from jaxtyping import Integer

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
    texts = [_Text(tokenizer, prompt, max_seq_len) for prompt in prompts]
    waiting = deque(texts)
    slots: list[_Text | None] = [None] * batch_size
    caches = [
        BatchingKvCache(batch_size, max_seq_len) for _ in range(model.num_hidden_layers)
    ]
    while waiting or any(slots):
        _fill(slots, waiting, caches, model, prefill_step)
        if any(slots):
            _generate_one_each(slots, caches, model)
    return [text.detokenizer.text for text in texts]


class _Text:
    """A prompt and what has come after it.

    Attributes:
        ids: All its tokens. Those but the last are in the cache, once it is read.
        detokenizer: Has the text of those that were generated.
        has_ended: Whether no token will come any more.
    """

    def __init__(self, tokenizer: Any, prompt: str, max_seq_len: int) -> None:  # noqa: ANN401
        self.ids = list(tokenizer.encode(prompt))
        if not 0 < len(self.ids) < max_seq_len:
            raise ValueError(
                f"batch_generate: expected prompts of 1 to {max_seq_len - 1} tokens, "
                f"got {len(self.ids)}; make max_seq_len larger or the prompt shorter"
            )
        self.detokenizer = tokenizer.detokenizer
        self.detokenizer.reset()
        self.has_ended = False
        self._end_ids = tokenizer.eos_token_ids
        self._max_seq_len = max_seq_len

    def read(self, model: Any, step: int) -> list[TinyKvFullCache]:  # noqa: ANN401
        """Show the prompt to the model, choose a token, and return the caches."""
        caches = model.create_kv_cache()
        logits = mx.zeros((1, 1, 1))
        for start in range(0, len(self.ids), step):
            piece = mx.array([self.ids[start : start + step]])
            logits = model(piece, start, caches, logits_to_keep=1)
            mx.eval(logits)  # so that the graph of a long prompt does not pile up
        self.add(mx.argmax(logits[0, -1]))
        return caches

    def add(self, choice: Integer[mx.array, ""]) -> None:
        """Take the token that was chosen, unless it ends the text."""
        token = choice.item()
        if token not in self._end_ids:
            self.ids.append(token)
            self.detokenizer.add_token(token)
        self.has_ended = token in self._end_ids or len(self.ids) == self._max_seq_len
        if self.has_ended:
            self.detokenizer.finalize()


def _fill(
    slots: list[_Text | None],
    waiting: deque[_Text],
    caches: list[BatchingKvCache],
    model: Any,  # noqa: ANN401
    prefill_step: int,
) -> None:
    """Read prompts until every slot is taken, or none is left."""
    for slot in range(len(slots)):
        while slots[slot] is None and waiting:
            text = waiting.popleft()
            prefilled = text.read(model, prefill_step)
            if text.has_ended:
                continue
            slots[slot] = text
            for cache, own in zip(caches, prefilled, strict=True):
                cache.add_request(own, slot)


def _generate_one_each(
    slots: list[_Text | None],
    caches: list[BatchingKvCache],
    model: Any,  # noqa: ANN401
) -> None:
    """Give every text in a slot its next token, and free the slots of those that end.

    An idle slot is a row of the batch as well: it is shown some token at position 0,
    and what comes out is not looked at.
    """
    newest = [text.ids[-1] if text else 0 for text in slots]
    offsets = [len(text.ids) - 1 if text else 0 for text in slots]
    logits = model(mx.array(newest)[:, None], offsets, caches, logits_to_keep=1)
    chosen = mx.argmax(logits[:, -1], axis=-1)
    for slot, text in enumerate(slots):
        if text is None:
            continue
        text.add(chosen[slot])
        if text.has_ended:
            slots[slot] = None
            for cache in caches:
                cache.remove_request(slot)
