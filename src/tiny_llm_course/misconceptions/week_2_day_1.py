"""Week 2, day 1: what goes wrong with a cache that joins what is old and what is new.

Mistakes in a cache with buffers, and in the model, are records, beside this file.
"""

from typing import Any, ClassVar
from weakref import WeakSet

import mlx.core as mx

from tiny_llm_course.specimens import specimen
from tiny_llm_ref.kv_cache import Mask, TinyKvCache

CACHE = "kv_cache.TinyKvFullCache"

Fetched = tuple[mx.array, mx.array, int, Mask]


class _Joined(TinyKvCache):
    """A cache that joins old and new along an axis."""

    axis = 2

    def __init__(self) -> None:
        self.offset = self.length = 0
        self.held: list[mx.array] = []

    def update_and_fetch(
        self,
        key: mx.array,
        value: mx.array,
        mask_length: int | None = None,
        mask: Mask = None,
    ) -> Fetched:
        pairs = zip(self.held, (key, value), strict=False)
        self.held = [self.joined(old, new) for old, new in pairs] or [key, value]
        self.length += key.shape[2]
        self.offset = self.moved(key.shape[2])
        return self.held[0], self.held[1], self.length, mask

    def joined(self, old: mx.array, new: mx.array) -> mx.array:
        return mx.concatenate([old, new], axis=self.axis)

    def moved(self, length: int) -> int:
        return self.offset + length


@specimen(1, symbol=CACHE)
class new_before_old(_Joined):
    def joined(self, old: mx.array, new: mx.array) -> mx.array:
        return super().joined(new, old)


@specimen(1, symbol=CACHE)
class joined_along_the_heads(_Joined):
    axis = 1


@specimen(1, symbol=CACHE)
class joined_along_the_channels(_Joined):
    axis = -1


@specimen(1, symbol=CACHE)
class offset_stays_at_zero(_Joined):
    def moved(self, length: int) -> int:
        return 0


@specimen(1, symbol=CACHE)
class offset_counts_the_calls(_Joined):
    def moved(self, length: int) -> int:
        return self.offset + 1


@specimen(1, symbol=CACHE)
class one_memory_for_all_caches(_Joined):
    # A list of the class never ends, and then what comes out depends on all that was
    # graded before. This one lasts as long as somebody has a cache.
    alive: ClassVar[WeakSet[Any]] = WeakSet()

    def __init__(self) -> None:
        super().__init__()
        self.memory: list[mx.array] = next((one.memory for one in self.alive), [])
        self.alive.add(self)

    def update_and_fetch(self, *args: Any, **named: Any) -> Fetched:  # noqa: ANN401
        self.held = self.memory[:]
        fetched = super().update_and_fetch(*args, **named)
        self.memory[:] = self.held
        return fetched


@specimen(1, symbol=CACHE)
class copied_at_each_token(_Joined):
    pass
