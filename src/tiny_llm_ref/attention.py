"""Attention: from one head to several heads that share keys and values."""

import math
from typing import Literal

import mlx.core as mx
from jaxtyping import Bool, Float, Int

from . import kernels
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
    if scale is None:
        scale = 1 / math.sqrt(query.shape[-1])
    scores = (query @ key.swapaxes(-2, -1)) * scale
    if mask is not None:
        scores = scores + mask.astype(scores.dtype)
    return softmax(scores, axis=-1) @ value


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
        if hidden_size % num_heads != 0:
            raise ValueError(
                "SimpleMultiHeadAttention: expected a hidden_size that num_heads "
                f"divides, got hidden_size {hidden_size} and num_heads {num_heads}"
            )
        self.num_heads = num_heads
        self.wq = wq
        self.wk = wk
        self.wv = wv
        self.wo = wo

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
        heads = scaled_dot_product_attention_simple(
            _split_heads(linear(query, self.wq), self.num_heads),
            _split_heads(linear(key, self.wk), self.num_heads),
            _split_heads(linear(value, self.wv), self.num_heads),
            mask=mask,
        )
        return linear(_merge_heads(heads), self.wo)


def _split_heads(
    x: Float[mx.array, "*N L HD"], num_heads: int
) -> Float[mx.array, "*N H L D"]:
    """Cut each vector into one piece per head, and put the heads before the tokens."""
    return mx.unflatten(x, -1, (num_heads, -1)).swapaxes(-3, -2)


def _merge_heads(x: Float[mx.array, "*N H L D"]) -> Float[mx.array, "*N L HD"]:
    """Undo `_split_heads`: the pieces of each token, side by side in one vector."""
    return mx.flatten(x.swapaxes(-3, -2), -2, -1)


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
    if L > S:
        raise ValueError(f"causal_mask: expected L <= S, got L = {L} and S = {S}")
    query_position = mx.arange(S - L, S)[:, None]
    key_position = mx.arange(S)[None, :]
    return mx.where(key_position <= query_position, 0.0, -mx.inf).astype(dtype)


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
    *batch, num_heads, L, _ = query.shape  # noqa: N806 - L and S as in the shapes
    num_kv_heads, S = key.shape[-3], key.shape[-2]  # noqa: N806
    if num_heads % num_kv_heads != 0:
        raise ValueError(
            "scaled_dot_product_attention_grouped: expected query heads to be a "
            f"multiple of key heads, got {num_heads} query and {num_kv_heads} key heads"
        )
    shared_rows = (*batch, num_kv_heads, num_heads // num_kv_heads * L, -1)
    if mask == "causal":
        mask = causal_mask(L, S, query.dtype)
    if mask is not None:
        mask = mx.broadcast_to(mask, (*batch, num_heads, L, S)).reshape(shared_rows)
    heads = scaled_dot_product_attention_simple(
        query.reshape(shared_rows), key, value, scale, mask
    )
    return heads.reshape(*batch, num_heads, L, -1)


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
    if scale is None:
        scale = 1 / math.sqrt(query.shape[-1])
    if isinstance(mask, mx.array):
        mask = _with_one_batch_axis(mask.astype(query.dtype), query.shape[:-3])
    q, k, v = (one.reshape(-1, *one.shape[-3:]) for one in (query, key, value))
    if not kernels.are_on():
        y = kernels.attention_of_mlx(q, k, v, scale, mask)
    elif query.shape[-2] <= FEW_QUERIES:
        y = kernels.attention_split(q, k, v, scale, mask)
    else:
        y = kernels.attention_tiled(q, k, v, scale, mask)
    return y.reshape(query.shape)


def _with_one_batch_axis(
    mask: Float[mx.array, "..."], batch: tuple[int, ...]
) -> Float[mx.array, "..."]:
    """Give a mask the axes of queries whose batch axes have become one."""
    if mask.ndim <= 3:
        return mask
    return mx.broadcast_to(mask, (*batch, *mask.shape[-3:])).reshape(
        -1, *mask.shape[-3:]
    )


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
    if page_size != key_pages.shape[2]:
        raise ValueError(
            f"paged_attention: expected pages of {page_size} tokens, got "
            f"{key_pages.shape[2]}"
        )
    if scale is None:
        scale = 1 / math.sqrt(query.shape[-1])
    if kernels.are_on():
        return kernels.paged_attention_tiled(
            query, key_pages, value_pages, block_table, context_lens, scale, mask
        )
    num_new = query.shape[2] if mask == "causal" else None
    allowed = _allowed(context_lens, num_new, block_table.shape[1] * page_size)
    is_key = _allowed(context_lens, None, allowed.shape[-1]).swapaxes(-2, -1)
    key, value = (
        mx.where(is_key, _gathered(pages, block_table), 0)
        for pages in (key_pages, value_pages)
    )
    added = mx.where(allowed, 0, -mx.inf).astype(query.dtype)
    return kernels.attention_of_mlx(query, key, value, scale, added)


def _gathered(
    pages: Float[mx.array, "N H_kv P D"], block_table: Int[mx.array, "B M"]
) -> Float[mx.array, "B H_kv S D"]:
    """Put the pages of each row side by side, in the order of its table."""
    found = pages[mx.clip(block_table, 0, len(pages) - 1)].swapaxes(1, 2)
    return found.reshape(*found.shape[:2], -1, found.shape[-1])


def _allowed(
    context_lens: Int[mx.array, " B"], num_new: int | None, num_places: int
) -> Bool[mx.array, "B 1 L S"]:
    """Tell which places a query may look at: L is 1 if all see the whole context."""
    ends = context_lens[:, None]
    if num_new is not None:
        ends = ends + mx.arange(1 - num_new, 1)
    return (mx.arange(num_places) < ends[..., None])[:, None]
