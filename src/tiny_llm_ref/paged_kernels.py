"""Week 3, Day 4: attention in C++ to keys and values in pages, as functions of arrays.

They are called by their names in `kernels`, like the others.
"""

from typing import Literal

import mlx.core as mx
from jaxtyping import Float, Int

from .compiled import built

Queries = Float[mx.array, "B H L D"]
Pages = Float[mx.array, "N H_kv P D"]
"""Keys, or values, of P neighbouring tokens of one row in each of N pages."""


def _attend_to_pages(
    variant: str,
    query: Queries,
    pages: tuple[mx.array, mx.array, mx.array, mx.array],
    scale: float,
    mask: Literal["causal"] | None,
) -> Queries:
    """Hand everything to C++, which knows one mask only."""
    if mask not in {None, "causal"}:
        raise ValueError(f"{variant}: expected 'causal' or None, got {mask!r}")
    return getattr(built(), variant)(query, *pages, scale, mask == "causal")


def paged_attention_online(
    query: Queries,
    key_pages: Pages,
    value_pages: Pages,
    block_table: Int[mx.array, "B M"],
    context_lens: Int[mx.array, " B"],
    scale: float,
    mask: Literal["causal"] | None = None,
) -> Queries:
    """Attend, one key after the other, each wherever it lies.

        y = softmax(query key^T * scale + mask) value
        key j of row b:  slot j % P of page block_table[b, j // P]

    Args:
        query: What the L new tokens of each row look for: they are its last ones.
        key_pages: What each token offers, in pages for P tokens of one row.
        value_pages: What each token hands over, in the same slots.
        block_table: The pages of each row, in the order of its text. What comes after
            the last one in use may be anything, -1 as a rule.
        context_lens: The number of tokens S of each row, the new ones included. What
            lies in its last page after them is not read.
        scale: Factor on the scores.
        mask: With "causal", the last query sees all keys, and each one before it sees
            one less. None lets all see all.
    """
    pages = (key_pages, value_pages, block_table, context_lens)
    return _attend_to_pages("paged_attention_online", query, pages, scale, mask)


def paged_attention_tiled(
    query: Queries,
    key_pages: Pages,
    value_pages: Pages,
    block_table: Int[mx.array, "B M"],
    context_lens: Int[mx.array, " B"],
    scale: float,
    mask: Literal["causal"] | None = None,
) -> Queries:
    """Do what `paged_attention_online` does, in tiles of pages, on all cores."""
    pages = (key_pages, value_pages, block_table, context_lens)
    return _attend_to_pages("paged_attention_tiled", query, pages, scale, mask)
