"""Keys and values in pages: drawn row by row, scattered, and NaN where no key lies."""

import functools
import zlib
from dataclasses import dataclass

import mlx.core as mx
import numpy as np
from numpy.typing import NDArray

from tiny_llm_course.grading.judgement.inputs import normal
from tiny_llm_course.grading.scenarios.heads import RAMPS

Contexts = tuple[tuple[mx.array, mx.array], ...]
"""The keys and the values of each row, H_kv x S x D."""

UNUSED = ("minus_one", "first_page", "after_the_last")
"""What a table may hold where a row has no page."""


@dataclass(frozen=True)
class Sizes:
    """The sizes of an input of paged attention, by their letters in shapes.

    Attributes:
        lens: The number of tokens S of each row.
    """

    lens: tuple[int, ...] = (7,)
    H: int = 4
    H_kv: int = 2
    L: int = 1
    D: int = 8
    P: int = 4

    def __str__(self) -> str:
        """Return the sizes as part of a test's name."""
        lens = "+".join(map(str, self.lens))
        return f"{self.H}/{self.H_kv}x{self.L}/{lens}x{self.D} in {self.P}"


@dataclass(frozen=True)
class PagedHeads:
    """Queries, B x H x L x D, and the contexts that they look at.

    Attributes:
        query: Of the last L tokens of each row.
        contexts: What the pages hold, row by row.
        args: What a solution is given: queries, pages, table and lengths.
    """

    query: mx.array
    contexts: Contexts
    args: tuple[mx.array, ...]


def draw_pages(
    sizes: Sizes,
    dtype: mx.Dtype = mx.float32,
    *,
    ramp: str | None = None,
    unused: str = UNUSED[0],
    num_spare: int = 2,
) -> PagedHeads:
    """Draw queries and contexts, and scatter the contexts over pages.

    Slots and pages without a token are NaN.

    Args:
        sizes: How large all is.
        dtype: Of queries, keys and values.
        ramp: Of `RAMPS`: what is added to the scores of each row.
        unused: Of `UNUSED`.
        num_spare: How many pages no row uses.
    """
    B = len(sizes.lens)  # noqa: N806 - as in the shapes
    query = normal(B, sizes.H, sizes.L, sizes.D, dtype=dtype, name="query")
    contexts = tuple(
        _context(sizes, row, num_tokens, dtype, ramp)
        for row, num_tokens in enumerate(sizes.lens)
    )
    if ramp is not None:
        query[..., 0] = 1.0
    return scattered(query, contexts, sizes.P, unused, num_spare)


def draw_shared_prefix(num_shared: int, sizes: Sizes) -> PagedHeads:
    """Draw rows that begin with the same tokens, whose full pages are there once."""
    drawn = draw_pages(sizes)
    prefix = drawn.contexts[0]

    def with_prefix(one: int, own: mx.array) -> mx.array:
        return mx.concatenate([prefix[one][:, :num_shared], own[:, num_shared:]], 1)

    contexts = tuple(
        (with_prefix(0, key), with_prefix(1, value)) for key, value in drawn.contexts
    )
    alike = scattered(drawn.query, contexts, sizes.P)
    table = alike.args[3]
    num_pages = num_shared // sizes.P
    table[:, :num_pages] = table[0, :num_pages]
    return alike


def _context(
    sizes: Sizes, row: int, num_tokens: int, dtype: mx.Dtype, ramp: str | None
) -> tuple[mx.array, mx.array]:
    """Draw the keys and values of a row."""
    key, value = (
        normal(sizes.H_kv, num_tokens, sizes.D, dtype=dtype, name=f"{name} {row}")
        for name in ("key", "value")
    )
    if ramp is not None:
        key[..., 0] = mx.linspace(*RAMPS[ramp], num_tokens)
    return key, value


def scattered(
    query: mx.array,
    contexts: Contexts,
    page_size: int,
    unused: str = UNUSED[0],
    num_spare: int = 2,
) -> PagedHeads:
    """Put contexts into pages, in an order without any order."""
    lens = [key.shape[1] for key, _ in contexts]
    counts = [-(-num_tokens // page_size) for num_tokens in lens]
    order = _order(sum(counts) + num_spare)
    filler = {UNUSED[0]: -1, UNUSED[1]: 0, UNUSED[2]: len(order)}[unused]
    table = np.full((len(lens), max(counts) + 1), filler, np.int32)
    H_kv, _, D = contexts[0][0].shape  # noqa: N806
    pages = [
        np.full((len(order), H_kv, page_size, D), np.nan, np.float32) for _ in "kv"
    ]
    taken = iter(order)
    for row, context in enumerate(contexts):
        for i in range(counts[row]):
            table[row, i] = page = next(taken)
            for own, one in zip(pages, context, strict=True):
                tokens = one[:, i * page_size : (i + 1) * page_size]
                own[page, :, : tokens.shape[1]] = np.array(tokens.astype(mx.float32))
    stored = (mx.array(own).astype(query.dtype) for own in pages)
    given = (query, *stored, mx.array(table), mx.array(lens, mx.int32))
    return PagedHeads(query, contexts, given)


@functools.cache
def _order(num_pages: int) -> NDArray[np.int64]:
    """Return the numbers of all pages, shuffled, the last one first."""
    rng = np.random.default_rng(zlib.crc32(f"pages {num_pages}".encode()))
    others = rng.permutation(num_pages - 1)
    return np.concatenate([[num_pages - 1], others])
