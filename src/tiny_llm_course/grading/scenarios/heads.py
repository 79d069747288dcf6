"""Queries, keys and values for a kernel of attention: drawn, laid out and masked."""

import math
from dataclasses import dataclass, replace

import mlx.core as mx

from tiny_llm_course.grading.judgement.inputs import normal

Heads = tuple[mx.array, mx.array, mx.array]
"""Queries N.. x H x L x D, and keys and values N.. x H_kv x S x D."""


@dataclass(frozen=True)
class Sizes:
    """The sizes of an input of attention, by their letters in shapes."""

    B: int = 1
    H: int = 4
    H_kv: int = 2
    L: int = 1
    S: int = 7
    D: int = 8

    def __str__(self) -> str:
        """Return the sizes as part of a test's name."""
        return f"{self.B}x{self.H}/{self.H_kv}x{self.L}/{self.S}x{self.D}"


RAMPS = {
    "scores that rise": (-30.0, 30.0),
    "scores that fall": (30.0, -30.0),
    "scores far above zero": (200.0, 210.0),
    "scores far below zero": (-200.0, -210.0),
    "scores that fall from far above": (300.0, -300.0),
    "scores that rise from far below": (-300.0, 300.0),
}
"""The scores of the first and the last key, without the random part."""


def draw_heads(sizes: Sizes, dtype: mx.Dtype = mx.float32) -> Heads:
    """Draw queries, keys and values."""
    query = normal(sizes.B, sizes.H, sizes.L, sizes.D, dtype=dtype, name="query")
    key, value = (
        normal(sizes.B, sizes.H_kv, sizes.S, sizes.D, dtype=dtype, name=name)
        for name in ("key", "value")
    )
    return query, key, value


def draw_batch(sizes: Sizes, batch: tuple[int, ...], dtype: mx.Dtype) -> Heads:
    """Draw queries, keys and values with these batch axes."""
    query, key, value = draw_heads(replace(sizes, B=math.prod(batch)), dtype)
    return (
        query.reshape(*batch, *query.shape[1:]),
        key.reshape(*batch, *key.shape[1:]),
        value.reshape(*batch, *value.shape[1:]),
    )


def draw_ramp(sizes: Sizes, kind: str) -> Heads:
    """Add a ramp of `RAMPS` to random scores, from the first key to the last."""
    query, key, value = draw_heads(sizes)
    query[..., 0] = 1.0
    key[..., 0] = mx.linspace(*RAMPS[kind], sizes.S)
    return query, key, value


def in_longer_cache(heads: Heads) -> Heads:
    """Make keys and values parts of arrays with room for more."""
    query, key, value = heads
    longer = [
        mx.concatenate([one, mx.full((*one.shape[:2], 37, one.shape[3]), 9.0)], axis=2)
        for one in (key, value)
    ]
    mx.eval(longer)
    num_keys = key.shape[2]
    return query, longer[0][:, :, :num_keys], longer[1][:, :, :num_keys]


def as_tokens_first(heads: Heads) -> Heads:
    """Make the heads of a token neighbours in memory, as after a projection."""
    query, key, value = (
        mx.contiguous(one.swapaxes(1, 2)).swapaxes(1, 2) for one in heads
    )
    mx.eval(query, key, value)
    return query, key, value


def among_other_heads(heads: Heads) -> Heads:
    """Make all arrays parts of larger ones, with one more head before and one after."""
    longer = [
        mx.pad(one, [(0, 0), (1, 1), (0, 0), (0, 0)], constant_values=9.0)
        for one in heads
    ]
    mx.eval(longer)
    query, key, value = (one[:, 1:-1] for one in longer)
    return query, key, value


LAYOUTS = {
    "in a longer cache": in_longer_cache,
    "tokens first": as_tokens_first,
    "among other heads": among_other_heads,
}
"""Give the same numbers another layout in memory."""


def draw_mask(*shape: int) -> mx.array:
    """Draw a mask that forbids some keys, and never all of a row."""
    drawn = normal(*shape, scale=2, name="mask")
    mask = mx.where(drawn > 2, -mx.inf, drawn)
    mask[..., -1] = 0.5
    return mask


def forbidden(num_keys: int, first: int, last: int) -> mx.array:
    """Return a mask that forbids the keys from `first` up to, but not with, `last`."""
    mask = mx.zeros((1, num_keys))
    mask[:, first:last] = -mx.inf
    return mask


def forbidden_to_each(num_queries: int, num_keys: int) -> mx.array:
    """Return a mask that forbids some keys to the first query, the others to the last.

    The queries between them see all keys.
    """
    mask = mx.zeros((num_queries, num_keys))
    mask[0, : num_keys // 2] = -mx.inf
    mask[-1, num_keys // 2 :] = -mx.inf
    return mask
