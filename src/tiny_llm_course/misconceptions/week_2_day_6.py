"""Day 6: what goes wrong in attention that never sees all scores at once.

The kernels are in C++. What stands here computes what a wrong one would.
"""

import math
from collections.abc import Callable
from typing import Any

import mlx.core as mx
import numpy as np
from numpy.typing import NDArray

from tiny_llm_course.specimens import specimen
from tiny_llm_ref.attention import flash_attention as right_flash
from tiny_llm_ref.attention import scaled_dot_product_attention_grouped as grouped

ONLINE = "kernels.attention_online"
TILED = "kernels.attention_tiled"
SPLIT = "kernels.attention_split"
FLASH = "attention.flash_attention"

Array = mx.array
Mask = mx.array | str | None
Numbers = NDArray[np.float64]
State = tuple[Numbers, Numbers, Numbers]


def _numbers(x: Array) -> Numbers:
    """Numpy has no bfloat16."""
    return np.array(x.astype(mx.float32), np.float64)


class _Online:
    """Attention in steps, of which each mistake below replaces one.

    The state is the largest score, the sum of weights, and the sum of weighted values.
    """

    tile = 1
    start = -math.inf

    def __call__(
        self, query: Array, key: Array, value: Array, scale: float, mask: Mask = None
    ) -> Array:
        q, k, v = (_numbers(one) for one in (query, key, value))
        k, v = (self.shared(one, q.shape[1]) for one in (k, v))
        with np.errstate(all="ignore"):
            scores = self.scores(q, k, scale, mask)
            sums, total = self.collected(scores, v)
            y = self.divided(sums, total)
        return mx.array(y.astype(np.float32)).astype(query.dtype)

    def shared(self, x: Numbers, num_heads: int) -> Numbers:
        return np.repeat(x, num_heads // x.shape[1], axis=1)

    def scores(self, q: Numbers, k: Numbers, scale: float, mask: Mask) -> Numbers:
        scores = q @ k.swapaxes(-1, -2) * scale
        if isinstance(mask, mx.array):
            scores = scores + _numbers(mask)
        if mask == "causal":
            scores = np.where(self.is_seen(*scores.shape[-2:]), scores, -math.inf)
        return scores

    def is_seen(self, num_queries: int, num_keys: int) -> Any:  # noqa: ANN401 - numpy's
        last = np.arange(num_queries)[:, None] + num_keys - num_queries
        return np.arange(num_keys) <= last

    def collected(self, scores: Numbers, v: Numbers) -> tuple[Numbers, Numbers]:
        rows = scores.shape[:-1]
        state = (np.full(rows, self.start), np.zeros(rows), np.zeros((*rows, 1)))
        for first in self.tiles(scores.shape[-1]):
            tile = slice(first, first + self.tile)
            state = self.step(state, scores[..., tile], v[..., tile, :])
        return state[2], state[1]

    def tiles(self, num_keys: int) -> range:
        return range(0, num_keys, self.tile)

    def step(self, state: State, scores: Numbers, v: Numbers) -> State:
        top, total, sums = state
        new_top = self.new_top(top, scores)
        shift = self.shift(new_top)
        shrunk = self.shrunk(top, shift)
        weights = self.weights(scores, shift)
        total = self.total(total, shrunk) + weights.sum(-1)
        sums = self.sums(sums, shrunk) + weights @ v
        return new_top, total, sums

    def new_top(self, top: Numbers, scores: Numbers) -> Numbers:
        return np.maximum(top, scores.max(-1))

    def shift(self, top: Numbers) -> Numbers:
        return np.where(np.isneginf(top), 0.0, top)

    def shrunk(self, top: Numbers, shift: Numbers) -> Numbers:
        return np.exp(top - shift)

    def weights(self, scores: Numbers, shift: Numbers) -> Numbers:
        return np.exp(scores - shift[..., None])

    def total(self, total: Numbers, shrunk: Numbers) -> Numbers:
        return total * shrunk

    def sums(self, sums: Numbers, shrunk: Numbers) -> Numbers:
        return sums * shrunk[..., None]

    def divided(self, sums: Numbers, total: Numbers) -> Numbers:
        return sums / total[..., None]


class _Tiled(_Online):
    tile = 64


class _Pieces(_Online):
    """Attention to pieces of 256 keys, each by itself, which are then merged."""

    tile = 256

    def collected(self, scores: Numbers, v: Numbers) -> tuple[Numbers, Numbers]:
        rows = scores.shape[:-1]
        nothing = (np.full(rows, self.start), np.zeros(rows), np.zeros((*rows, 1)))
        pieces = [
            self.step(nothing, scores[..., tile], v[..., tile, :])
            for tile in self.slices(scores.shape[-1])
        ]
        tops, totals, sums = (np.stack(one) for one in zip(*pieces, strict=True))
        return self.merged(tops, totals, sums)

    def slices(self, num_keys: int) -> list[slice]:
        return [slice(first, first + self.tile) for first in self.tiles(num_keys)]

    def merged(
        self, tops: Numbers, totals: Numbers, sums: Numbers
    ) -> tuple[Numbers, Numbers]:
        shares = np.exp(tops - self.shift(tops.max(0)))
        return (sums * shares[..., None]).sum(0), (totals * shares).sum(0)


Kernel = Callable[..., Array]


def _wrong(number: int, symbol: str) -> Callable[[type[_Online]], Kernel]:
    """Make a mistake of wrong steps."""

    def make(steps: type[_Online]) -> Kernel:
        def kernel(
            query: Array,
            key: Array,
            value: Array,
            scale: float,
            mask: Mask = None,
        ) -> Array:
            return steps()(query, key, value, scale, mask)

        kernel.__name__ = steps.__name__
        return specimen(number, symbol=symbol)(kernel)

    return make


_online, _tiled, _split = (
    _wrong(number, symbol) for number, symbol in enumerate((ONLINE, TILED, SPLIT), 1)
)


@_online
class total_not_scaled_down(_Online):
    def total(self, total: Numbers, shrunk: Numbers) -> Numbers:
        return total


@_online
class values_not_scaled_down(_Online):
    def sums(self, sums: Numbers, shrunk: Numbers) -> Numbers:
        return sums


@_online
class nothing_scaled_down(_Online):
    def shrunk(self, top: Numbers, shift: Numbers) -> Numbers:
        return np.ones_like(shift)


@_online
class scaled_the_wrong_way(_Online):
    def shrunk(self, top: Numbers, shift: Numbers) -> Numbers:
        return np.where(np.isneginf(top), 0.0, np.exp(shift - top))


@_online
class maximum_begins_at_zero(_Online):
    start = 0.0

    def weights(self, scores: Numbers, shift: Numbers) -> Numbers:
        # In float32, as a kernel has it: e^-200 is 0 there.
        narrow = super().weights(scores, shift).astype(np.float32)
        return narrow.astype(np.float64)


@_online
class maximum_not_carried(_Online):
    def new_top(self, top: Numbers, scores: Numbers) -> Numbers:
        return scores.max(-1)


@_online
class maximum_not_subtracted(_Online):
    def shift(self, top: Numbers) -> Numbers:
        return np.zeros_like(top)

    def shrunk(self, top: Numbers, shift: Numbers) -> Numbers:
        return np.ones_like(shift)

    def weights(self, scores: Numbers, shift: Numbers) -> Numbers:
        # In float32, as a kernel has it.
        return np.exp(scores.astype(np.float32)).astype(np.float64)


@_online
class forbidden_from_forbidden(_Online):
    def shift(self, top: Numbers) -> Numbers:
        return top


@_online
class never_divided(_Online):
    def divided(self, sums: Numbers, total: Numbers) -> Numbers:
        return sums


@_online
class divided_at_each_key(_Online):
    def step(self, state: State, scores: Numbers, v: Numbers) -> State:
        top, total, sums = super().step(state, scores, v)
        return top, total, np.where(total[..., None] > 0, sums / total[..., None], 0)

    def divided(self, sums: Numbers, total: Numbers) -> Numbers:
        return sums


@_online
class kernel_without_scale(_Online):
    def scores(self, q: Numbers, k: Numbers, scale: float, mask: Mask) -> Numbers:
        return super().scores(q, k, 1.0, mask)


@_online
class scale_applied_twice(_Online):
    def scores(self, q: Numbers, k: Numbers, scale: float, mask: Mask) -> Numbers:
        return super().scores(q, k, scale * scale, mask)


@_online
class mask_scaled_as_well(_Online):
    def scores(self, q: Numbers, k: Numbers, scale: float, mask: Mask) -> Numbers:
        if isinstance(mask, mx.array):
            mask = mask.astype(mx.float32) * scale
        return super().scores(q, k, scale, mask)


@_online
class mask_added_to_the_weights(_Online):
    def __call__(
        self, query: Array, key: Array, value: Array, scale: float, mask: Mask = None
    ) -> Array:
        self.added = _numbers(mask) if isinstance(mask, mx.array) else np.zeros(1)
        named = mask if isinstance(mask, str) else None
        return super().__call__(query, key, value, scale, named)

    def collected(self, scores: Numbers, v: Numbers) -> tuple[Numbers, Numbers]:
        weights = np.exp(scores - scores.max(-1, keepdims=True)) + self.added
        return weights @ v, weights.sum(-1)


@_online
class mask_not_looked_at(_Online):
    def scores(self, q: Numbers, k: Numbers, scale: float, mask: Mask) -> Numbers:
        return super().scores(q, k, scale, mask if isinstance(mask, str) else None)


@_online
class causal_not_looked_at(_Online):
    def is_seen(self, num_queries: int, num_keys: int) -> Any:  # noqa: ANN401
        return np.ones((num_queries, num_keys), bool)


@_online
class causal_from_the_first_key(_Online):
    def is_seen(self, num_queries: int, num_keys: int) -> Any:  # noqa: ANN401
        return np.arange(num_keys) <= np.arange(num_queries)[:, None]


@_online
class own_key_not_seen(_Online):
    def is_seen(self, num_queries: int, num_keys: int) -> Any:  # noqa: ANN401
        seen = super().is_seen(num_queries, num_keys)
        return np.concatenate([seen[:, 1:], np.zeros((num_queries, 1), bool)], axis=1)


@_online
class next_key_seen(_Online):
    def is_seen(self, num_queries: int, num_keys: int) -> Any:  # noqa: ANN401
        seen = super().is_seen(num_queries, num_keys)
        return np.concatenate([np.ones((num_queries, 1), bool), seen[:, :-1]], axis=1)


@_online
class last_key_left_out(_Online):
    def tiles(self, num_keys: int) -> range:
        return range(num_keys - 1)


@_online
class heads_in_turns(_Online):
    def shared(self, x: Numbers, num_heads: int) -> Numbers:
        return np.tile(x, (1, num_heads // x.shape[1], 1, 1))


@_tiled
class keys_of_the_last_tile_left_out(_Tiled):
    def tiles(self, num_keys: int) -> range:
        return range(0, num_keys // self.tile * self.tile, self.tile)


@_tiled
class last_tile_filled_with_zeros(_Tiled):
    def collected(self, scores: Numbers, v: Numbers) -> tuple[Numbers, Numbers]:
        missing = -scores.shape[-1] % self.tile
        scores = np.pad(scores, [(0, 0)] * 3 + [(0, missing)])
        v = np.pad(v, [(0, 0)] * 2 + [(0, missing), (0, 0)])
        return super().collected(scores, v)


@_tiled
class tiles_added_as_they_are(_Tiled):
    def step(self, state: State, scores: Numbers, v: Numbers) -> State:
        start = np.full_like(state[0], -math.inf)
        top, total, sums = super().step((start, state[1] * 0, state[2] * 0), scores, v)
        return top, total + state[1], sums + state[2]


@_tiled
class tile_total_not_scaled_down(_Tiled):
    def total(self, total: Numbers, shrunk: Numbers) -> Numbers:
        return total


@_tiled
class tile_values_not_scaled_down(_Tiled):
    def sums(self, sums: Numbers, shrunk: Numbers) -> Numbers:
        return sums


@_tiled
class each_tile_divided(_Tiled):
    def step(self, state: State, scores: Numbers, v: Numbers) -> State:
        top, total, sums = super().step(state, scores, v)
        return top, total, np.where(total[..., None] > 0, sums / total[..., None], 0)

    def divided(self, sums: Numbers, total: Numbers) -> Numbers:
        return sums


@_tiled
class forbidden_tile(_Tiled):
    def shift(self, top: Numbers) -> Numbers:
        return top


@_tiled
class diagonal_tile_seen_whole(_Tiled):
    def is_seen(self, num_queries: int, num_keys: int) -> Any:  # noqa: ANN401
        last = np.arange(num_queries)[:, None] + num_keys - num_queries
        return np.arange(num_keys) // self.tile <= last // self.tile


@_tiled
class diagonal_tile_skipped(_Tiled):
    def is_seen(self, num_queries: int, num_keys: int) -> Any:  # noqa: ANN401
        last = np.arange(num_queries)[:, None] + num_keys - num_queries
        return np.arange(num_keys) // self.tile < (last + 1) // self.tile


@_tiled
class tiles_skipped_as_if_square(_Tiled):
    def is_seen(self, num_queries: int, num_keys: int) -> Any:  # noqa: ANN401
        seen = super().is_seen(num_queries, num_keys)
        last = np.arange(num_queries)[:, None]
        return seen & (np.arange(num_keys) // self.tile <= last // self.tile)


@_tiled
class mask_of_the_first_head(_Tiled):
    def scores(self, q: Numbers, k: Numbers, scale: float, mask: Mask) -> Numbers:
        if isinstance(mask, mx.array) and mask.ndim > 2:
            mask = mask[..., :1, :, :]
        return super().scores(q, k, scale, mask)


@_tiled
class mask_of_the_first_tile(_Tiled):
    def scores(self, q: Numbers, k: Numbers, scale: float, mask: Mask) -> Numbers:
        if isinstance(mask, mx.array) and mask.shape[-1] > 1:
            mask = mask[..., mx.arange(mask.shape[-1]) % self.tile]
        return super().scores(q, k, scale, mask)


@_tiled
class groups_in_turns(_Tiled):
    def shared(self, x: Numbers, num_heads: int) -> Numbers:
        return np.tile(x, (1, num_heads // x.shape[1], 1, 1))


@_tiled
class last_queries_left_out(_Tiled):
    def divided(self, sums: Numbers, total: Numbers) -> Numbers:
        y = super().divided(sums, total)
        num_queries = y.shape[-2]
        y[..., num_queries // 4 * 4 :, :] = 0
        return y


@_split
class pieces_added_as_they_are(_Pieces):
    def merged(
        self, tops: Numbers, totals: Numbers, sums: Numbers
    ) -> tuple[Numbers, Numbers]:
        return sums.sum(0), totals.sum(0)


@_split
class pieces_averaged(_Pieces):
    def merged(
        self, tops: Numbers, totals: Numbers, sums: Numbers
    ) -> tuple[Numbers, Numbers]:
        return (sums / totals[..., None]).mean(0), np.ones_like(totals[0])


@_split
class pieces_weighted_by_their_maxima_only(_Pieces):
    def merged(
        self, tops: Numbers, totals: Numbers, sums: Numbers
    ) -> tuple[Numbers, Numbers]:
        means = np.where(totals[..., None] > 0, sums / totals[..., None], 0)
        return super().merged(tops, np.ones_like(totals), means)


@_split
class totals_merged_without_weights(_Pieces):
    def merged(
        self, tops: Numbers, totals: Numbers, sums: Numbers
    ) -> tuple[Numbers, Numbers]:
        return super().merged(tops, totals, sums)[0], totals.sum(0)


@_split
class last_piece_left_out(_Pieces):
    def slices(self, num_keys: int) -> list[slice]:
        return super().slices(num_keys)[:-1] or [slice(0, num_keys)]


@_split
class pieces_overlap_by_a_key(_Pieces):
    def slices(self, num_keys: int) -> list[slice]:
        return [slice(one.start, one.stop + 1) for one in super().slices(num_keys)]


@_split
class short_cache_not_divided(_Pieces):
    def divided(self, sums: Numbers, total: Numbers) -> Numbers:
        return sums


@_split
class forbidden_piece(_Pieces):
    def shift(self, top: Numbers) -> Numbers:
        return top


@_split
class causal_within_the_piece(_Pieces):
    def is_seen(self, num_queries: int, num_keys: int) -> Any:  # noqa: ANN401
        last = np.arange(num_queries)[:, None] + num_keys - num_queries
        return np.arange(num_keys) % self.tile <= last


@_split
class mask_from_the_beginning_of_each_piece(_Pieces):
    def scores(self, q: Numbers, k: Numbers, scale: float, mask: Mask) -> Numbers:
        if isinstance(mask, mx.array) and mask.shape[-1] > 1:
            mask = mask[..., mx.arange(mask.shape[-1]) % self.tile]
        return super().scores(q, k, scale, mask)


@_split
class shared_heads_in_turns(_Pieces):
    def shared(self, x: Numbers, num_heads: int) -> Numbers:
        return np.tile(x, (1, num_heads // x.shape[1], 1, 1))


@specimen(4, symbol=FLASH)
def flash_without_scale(
    query: Array,
    key: Array,
    value: Array,
    scale: float | None = None,
    mask: Any = None,  # noqa: ANN401 - of any kind
) -> Array:
    return right_flash(query, key, value, 1.0 if scale is None else scale, mask)


@specimen(4, symbol=FLASH)
def flash_with_its_own_scale(
    query: Array,
    key: Array,
    value: Array,
    scale: float | None = None,
    mask: Any = None,  # noqa: ANN401 - of any kind
) -> Array:
    del scale
    return right_flash(query, key, value, None, mask)


@specimen(4, symbol=FLASH)
def flash_without_mask(
    query: Array,
    key: Array,
    value: Array,
    scale: float | None = None,
    mask: Any = None,  # noqa: ANN401 - of any kind
) -> Array:
    del mask
    return right_flash(query, key, value, scale)


@specimen(4, symbol=FLASH)
def flash_always_causal(
    query: Array,
    key: Array,
    value: Array,
    scale: float | None = None,
    mask: Any = None,  # noqa: ANN401 - of any kind
) -> Array:
    is_long = query.shape[-2] > 1 and mask is None
    return right_flash(query, key, value, scale, "causal" if is_long else mask)


@specimen(4, symbol=FLASH)
def flash_left_in_float32(
    query: Array,
    key: Array,
    value: Array,
    scale: float | None = None,
    mask: Any = None,  # noqa: ANN401 - of any kind
) -> Array:
    q, k, v = (one.astype(mx.float32) for one in (query, key, value))
    return right_flash(q, k, v, scale, mask)


@specimen(4, symbol=FLASH)
def flash_with_one_batch_axis(
    query: Array,
    key: Array,
    value: Array,
    scale: float | None = None,
    mask: Any = None,  # noqa: ANN401 - of any kind
) -> Array:
    batch, num_heads, num_queries, width = query.shape
    y = right_flash(query, key, value, scale, mask)
    return y.reshape(batch, num_heads, num_queries, width)


@specimen(4, symbol=FLASH)
def flash_with_the_mask_of_the_first_text(
    query: Array,
    key: Array,
    value: Array,
    scale: float | None = None,
    mask: Any = None,  # noqa: ANN401 - of any kind
) -> Array:
    if isinstance(mask, mx.array) and mask.ndim > 3:
        mask = mask.reshape(-1, *mask.shape[-3:])[0]
    return right_flash(query, key, value, scale, mask)


@specimen(4, symbol=FLASH)
def flash_that_holds_all_scores(
    query: Array,
    key: Array,
    value: Array,
    scale: float | None = None,
    mask: Any = None,  # noqa: ANN401 - of any kind
) -> Array:
    return grouped(query, key, value, scale, mask)


@specimen(4, symbol=FLASH)
def flash_that_copies_the_cache(
    query: Array,
    key: Array,
    value: Array,
    scale: float | None = None,
    mask: Any = None,  # noqa: ANN401 - of any kind
) -> Array:
    key, value = (mx.contiguous(one) for one in (key, value))
    return right_flash(query, key, value, scale, mask)


@specimen(4, symbol=FLASH)
def flash_that_repeats_the_key_heads(
    query: Array,
    key: Array,
    value: Array,
    scale: float | None = None,
    mask: Any = None,  # noqa: ANN401 - of any kind
) -> Array:
    times = query.shape[-3] // key.shape[-3]
    key, value = (mx.repeat(one, times, axis=-3) for one in (key, value))
    return right_flash(query, key, value, scale, mask)
