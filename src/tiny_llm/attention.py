"""Attention: from one head to several heads that share keys and values."""

import math
from typing import Literal

import mlx.core as mx
from jaxtyping import Bool, Float, Int

from tiny_llm_course import todo

from .basics import linear, softmax
from .masks import Mask


def scaled_dot_product_attention_simple(
    query: Float[mx.array, "*N L D"],
    key: Float[mx.array, "*N S D"],
    value: Float[mx.array, "*N S D"],
    scale: float | None = None,
    mask: Float[mx.array, "..."] | None = None,
) -> Float[mx.array, "*N L D"]:
    """Let every query collect the values whose keys are most like it.

        y = softmax(query key^T * scale + mask) value

    Args:
        query: What each of the L positions looks for.
        key: What each of the S positions offers to be found by.
        value: What each of the S positions hands over.
        scale: Factor on the scores, 1 / sqrt(D) by default: the dot product of two
            vectors of D independent entries of variance 1 has variance D.
        mask: Added to the scores, so 0 allows and -inf forbids. Any shape that
            broadcasts to `N.. x L x S`, and any dtype: the result has the query's.

    Source: Vaswani et al. 2017 (arXiv:1706.03762), section 3.2.1, equation 1.
    """
    todo("week 1, day 1, task 1")


class SimpleMultiHeadAttention:
    """Attend with several heads side by side, each in a subspace of its own.

        head_h = attention(query wq_h^T, key wk_h^T, value wv_h^T)
        y = concat(head_1, ..., head_H) wo^T

    Args:
        hidden_size: Width E of the activations.
        num_heads: Number of heads H.
        wq: Query projection. Its H * D rows are H blocks of D, one block per head.
        wk: Key projection, laid out like `wq`.
        wv: Value projection, laid out like `wq`.
        wo: Output projection, which mixes the heads.

    Raises:
        ValueError: `hidden_size` is no multiple of `num_heads`.

    Source: Vaswani et al. 2017 (arXiv:1706.03762), section 3.2.2. No biases.
    """

    def __init__(
        self,
        hidden_size: int,
        num_heads: int,
        wq: Float[mx.array, "HD E"],
        wk: Float[mx.array, "HD E"],
        wv: Float[mx.array, "HD E"],
        wo: Float[mx.array, "E HD"],
    ) -> None:
        todo("week 1, day 1, task 2")

    def __call__(
        self,
        query: Float[mx.array, "*N L E"],
        key: Float[mx.array, "*N S E"],
        value: Float[mx.array, "*N S E"],
        mask: Float[mx.array, "..."] | None = None,
    ) -> Float[mx.array, "*N L E"]:
        """Attend from `query` to `key` and hand back what is found in `value`.

        Args:
            query: Activations of the L positions that look.
            key: Activations of the S positions that are looked at: those of the same
                text, or of another one.
            value: Activations of the S positions that are collected.
            mask: Added to the scores of every head.
        """
        todo("week 1, day 1, task 2")


def causal_mask(L: int, S: int, dtype: mx.Dtype) -> Float[mx.array, "L S"]:  # noqa: N803
    """Forbid every query to look at keys that come after it.

    The L queries are the last L of the S positions, so query i stands at position
    i + S - L, and the last row allows all S keys.

    Args:
        L: Number of queries, S at most.
        S: Number of keys.
        dtype: Of the mask: that of the scores it will be added to.

    Returns:
        0 where a query may look and -inf where it may not.

    Raises:
        ValueError: There are more queries than keys.
    """
    todo("week 1, day 3, task 2")


def scaled_dot_product_attention_grouped(
    query: Float[mx.array, "*N H L D"],
    key: Float[mx.array, "*N H_kv S D"],
    value: Float[mx.array, "*N H_kv S D"],
    scale: float | None = None,
    mask: Mask = None,
) -> Float[mx.array, "*N H L D"]:
    """Attend with H query heads that share H_kv key and value heads.

    Query head h reads key and value head h // (H / H_kv): each run of H / H_kv
    neighbouring query heads shares one. To that one, the queries of all its heads
    are just more queries, so keys and values need not be copied.

    Args:
        query: What each of the L positions looks for, per query head.
        key: What each of the S positions offers, per key head.
        value: What each of the S positions hands over, per key head.
        scale: Factor on the scores, 1 / sqrt(D) by default.
        mask: Added to the scores: any shape that broadcasts to `N.. x H x L x S`,
            in any dtype, for the result has the query's; or "causal" for
            `causal_mask(L, S)`, where L is S at most.

    Raises:
        ValueError: H is no multiple of H_kv.

    Source: Ainslie et al. 2023 (arXiv:2305.13245), section 2.2.
    """
    todo("week 1, day 3, task 1")


FEW_QUERIES = 8
"""Up to so many, the keys are cut into pieces for the cores, and not the queries."""


def flash_attention(
    query: Float[mx.array, "*N H L D"],
    key: Float[mx.array, "*N H_kv S D"],
    value: Float[mx.array, "*N H_kv S D"],
    scale: float | None = None,
    mask: Mask = None,
) -> Float[mx.array, "*N H L D"]:
    """Attend like `scaled_dot_product_attention_grouped`, without the L x S scores.

    The scores are made, weighed and used tile by tile, in float32. Where
    `kernels.are_on()`, the kernels of this course do it: `attention_split` for few
    queries, `attention_tiled` for many. Elsewhere MLX does, with its own kernels.

    Args:
        query: What each of the L positions looks for, per query head.
        key: What each of the S positions offers, per key head. It may be a slice of a
            longer cache: in float32 it is not copied.
        value: What each of the S positions hands over, per key head.
        scale: Factor on the scores, 1 / sqrt(D) by default.
        mask: Added to the scores: any shape that broadcasts to `N.. x H x L x S`,
            or "causal" for `causal_mask(L, S)`.

    Raises:
        ValueError: Shapes or dtypes do not fit.

    Source: Dao et al. 2022 (arXiv:2205.14135), and for the pieces of the cache Dao et
    al. 2023, "Flash-Decoding for long-context inference". Both are for GPUs.
    """
    todo("week 2, day 6, task 4")


def paged_attention(
    query: Float[mx.array, "B H L D"],
    key_pages: Float[mx.array, "N H_kv P D"],
    value_pages: Float[mx.array, "N H_kv P D"],
    block_table: Int[mx.array, "B M"],
    context_lens: Int[mx.array, " B"],
    page_size: int,
    scale: float | None = None,
    mask: Literal["causal"] | None = None,
) -> Float[mx.array, "B H L D"]:
    """Attend like `flash_attention`, each row to keys and values in its own pages.

    Key j of row b lies in slot j % P of page `block_table[b, j // P]`. Where
    `kernels.are_on()`, `kernels.paged_attention_tiled` reads the pages where they lie.
    Elsewhere they are gathered, and MLX attends with its own kernels.

    Args:
        query: What the L new tokens of each row look for: they are its last ones.
        key_pages: What each token offers, in N pages that all rows share.
        value_pages: What each token hands over, in the same slots.
        block_table: The pages of each row, in the order of its text. What comes after
            the last page in use may be anything, -1 as a rule.
        context_lens: The number of tokens of each row, the new ones included. What lies
            in its last page after them may be anything, and changes nothing.
        page_size: The number of tokens P that a page has room for.
        scale: Factor on the scores, 1 / sqrt(D) by default.
        mask: With "causal", the last query of a row sees all its keys, and each one
            before it sees one less. None lets all see all.

    Raises:
        ValueError: `page_size` is not that of the pages, or a kernel finds that shapes,
            dtypes, pages or lengths do not fit.

    Source: Kwon et al. 2023 (arXiv:2309.06180), section 4.1. Theirs is for GPUs, and
    for one new token per row.
    """
    todo("week 3, day 4, task 3")
