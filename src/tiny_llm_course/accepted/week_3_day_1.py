"""Week 3, day 1: other right ways to keep and to run several texts."""

from collections.abc import Iterator, Sequence
from typing import Any

import mlx.core as mx

from tiny_llm_course.specimens import specimen
from tiny_llm_ref.kv_cache import BatchingKvCache, Mask, TinyKvCache, TinyKvFullCache

CACHE = "kv_cache.BatchingKvCache"
GENERATE = "batch.batch_generate"

Fetched = tuple[mx.array, mx.array, int, Mask]


@specimen(1, symbol=CACHE)
class one_buffer_for_all_slots(TinyKvCache):
    """All rows end in the same column, so one write serves them all."""

    def __init__(
        self, max_active_requests: int, max_seq_len: int | None = None
    ) -> None:
        self.lengths = [0] * max_active_requests
        self.joining: dict[int, TinyKvCache] = {}
        self.held: list[mx.array] = []

    def add_request(self, prefilled: TinyKvCache, id: int) -> None:  # noqa: A002
        self.joining[id] = prefilled

    def remove_request(self, id: int) -> None:  # noqa: A002
        self.lengths[id] = 0

    def update_and_fetch(
        self,
        key: mx.array,
        value: mx.array,
        mask_length: int | None = None,
        mask: Mask = None,
    ) -> Fetched:
        num_new = key.shape[2]
        new = [key, value]
        if self.held:
            pairs = zip(self.held, new, strict=True)
            new = [mx.concatenate([old, one], axis=2) for old, one in pairs]
        self.lengths = [n + num_new if n else 0 for n in self.lengths]
        for slot, cache in self.joining.items():
            row = slice(slot, slot + 1)
            own = cache.update_and_fetch(key[row], value[row])[:2]
            length = self.lengths[slot] = own[0].shape[2]
            short = max(0, length - new[0].shape[2])
            front = [(0, 0), (0, 0), (short, 0), (0, 0)]
            new = [mx.pad(one, front) for one in new]
            for whole, text in zip(new, own, strict=True):
                whole[row, :, -length:] = text
        self.joining.clear()
        num_all = max(*self.lengths, num_new)
        self.held = [one[:, :, -num_all:] for one in new]
        return self.held[0], self.held[1], num_all, self.mask(num_new, num_all)

    def mask(self, num_new: int, num_all: int) -> mx.array:
        columns, rows = mx.arange(num_all), mx.arange(num_new)[:, None]
        first = mx.array([num_all - (n or num_new) for n in self.lengths])
        is_seen = (columns <= rows + num_all - num_new) & (
            columns >= first[:, None, None, None]
        )
        return mx.where(is_seen, 0.0, -mx.inf)


class _Tables:
    """Texts, slots and places as plain lists of numbers."""

    def __init__(
        self,
        model: Any,  # noqa: ANN401
        tokenizer: Any,  # noqa: ANN401
        prompts: Sequence[str],
        sizes: tuple[int, int, int],
    ) -> None:
        self.model, self.end_ids = model, tokenizer.eos_token_ids
        self.most, self.num_slots, self.longest = sizes
        self.prompts = [tokenizer.encode(prompt) for prompt in prompts]
        self.answers: list[list[int]] = [[] for _ in prompts]
        self.unread: Iterator[int] = iter(range(len(prompts)))
        self.place = [0] * self.num_slots
        self.whose: list[int | None] = [None] * self.num_slots
        self.caches = [
            BatchingKvCache(self.num_slots) for _ in range(model.num_hidden_layers)
        ]

    def run(self) -> None:
        while True:
            for slot, number in enumerate(self.whose):
                if number is None:
                    self.join(slot)
            if all(one is None for one in self.whose):
                return
            self.step()

    def join(self, slot: int) -> None:
        for number in self.unread:
            own: list[Any] = [TinyKvFullCache() for _ in self.caches]
            ids, logits = self.prompts[number], mx.zeros((1, 1, 1))
            for start in range(0, len(ids), self.longest):
                piece = mx.array([ids[start : start + self.longest]])
                logits = self.model(piece, [start], own)
            if not self.is_over(number, logits[0, -1]):
                self.whose[slot], self.place[slot] = number, len(ids)
                for cache, one in zip(self.caches, own, strict=True):
                    cache.add_request(one, slot)
                return

    def step(self) -> None:
        newest = [[0 if n is None else self.answers[n][-1]] for n in self.whose]
        logits = self.model(mx.array(newest), self.place, self.caches)
        for slot, number in enumerate(self.whose):
            if number is not None:
                self.place[slot] += 1
                if self.is_over(number, logits[slot, -1]):
                    self.whose[slot], self.place[slot] = None, 0
                    for cache in self.caches:
                        cache.remove_request(slot)

    def is_over(self, number: int, logits: mx.array) -> bool:
        token: Any = mx.argmax(logits).item()
        if token in self.end_ids:
            return True
        self.answers[number].append(token)
        return len(self.prompts[number]) + len(self.answers[number]) >= self.most


@specimen(4, symbol=GENERATE)
def tables_of_numbers(
    model: Any,  # noqa: ANN401
    tokenizer: Any,  # noqa: ANN401
    prompts: Sequence[str],
    max_seq_len: int = 512,
    batch_size: int = 5,
    prefill_step: int = 128,
) -> list[str]:
    sizes = (max_seq_len, batch_size, prefill_step)
    tables = _Tables(model, tokenizer, prompts, sizes)
    tables.run()
    return [tokenizer.decode(answer) for answer in tables.answers]
