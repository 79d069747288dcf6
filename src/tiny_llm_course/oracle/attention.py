"""Attention, as PyTorch computes it in float64."""

from collections.abc import Sequence

import mlx.core as mx
import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 - PyTorch's own custom
from numpy.typing import NDArray

from tiny_llm_course.grading.judgement.closeness import Truth
from tiny_llm_course.oracle.exact import (
    as_numpy,
    exact,
    float32_share,
    layer_truth,
    summing,
    truth,
)


def attention(
    query: mx.array,
    key: mx.array,
    value: mx.array,
    scale: float | None = None,
    mask: mx.array | None = None,
) -> Truth:
    """Compute attention. The error scale has the output, the values and the scores.

    Key heads are repeated where there are more query heads than key heads.

    Args:
        query: N.. x H x L x D, or N.. x L x D.
        key: N.. x H_kv x S x D, or N.. x S x D.
        value: Like `key`.
        scale: Factor on the scores. None is 1 / sqrt(D).
        mask: Added to the scores.
    """
    queries, keys, values = exact(query), exact(key), exact(value)
    if queries.dim() > 2 and queries.shape[-3] != keys.shape[-3]:
        groups = queries.shape[-3] // keys.shape[-3]
        keys = keys.repeat_interleave(groups, dim=-3)
        values = values.repeat_interleave(groups, dim=-3)
    bias = None if mask is None else exact(mask)
    output = F.scaled_dot_product_attention(
        queries, keys, values, attn_mask=bias, scale=scale
    )
    factor = query.shape[-1] ** -0.5 if scale is None else abs(scale)
    scores = queries @ keys.mT * factor
    terms = queries.abs() @ keys.mT.abs() * factor
    masked = scores if bias is None else scores + bias
    probabilities = masked.softmax(-1)
    size = scores.abs() + terms * float32_share(query.dtype)
    size = size + 1 + summing(key.shape[-2], query.dtype)
    return truth(output, output.abs() + (probabilities * size) @ values.abs())


def attention_of_rows(
    query: mx.array,
    contexts: Sequence[tuple[mx.array, mx.array]],
    scale: float | None = None,
    *,
    is_causal: bool = False,
) -> Truth:
    """Compute the attention of each row to a context of its own length.

    Args:
        query: B x H x L x D.
        contexts: The keys and the values of each row, H_kv x S x D.
        scale: As in `attention`.
        is_causal: Whether the queries of a row are its last tokens, and see no later
            ones.
    """
    rows: list[Truth] = []
    for own, (key, value) in zip(query, contexts, strict=True):
        mask = mx.array(causal_mask(own.shape[1], key.shape[1]).astype(np.float32))
        rows.append(attention(own, key, value, scale, mask if is_causal else None))
    return Truth(
        np.stack([row.value for row in rows]), np.stack([row.scale for row in rows])
    )


def causal_mask(num_queries: int, num_keys: int) -> NDArray[np.float64]:
    """Return 0 where a query may look and -inf where not, the last row all 0."""
    allowed = torch.ones(num_queries, num_keys, dtype=torch.bool)
    allowed = allowed.tril(diagonal=num_keys - num_queries)
    return as_numpy(torch.zeros(allowed.shape).masked_fill(~allowed, -torch.inf))


def multi_head_attention(
    num_heads: int,
    weights: tuple[mx.array, mx.array, mx.array, mx.array],
    inputs: tuple[mx.array, mx.array, mx.array],
    mask: mx.array | None = None,
) -> Truth:
    """Run `torch.nn.MultiheadAttention` without biases.

    Args:
        num_heads: Number of heads.
        weights: Query, key, value and output projections, each E x E.
        inputs: Query, N.. x L x E, key and value, N.. x S x E.
        mask: L x S, added to the scores.
    """
    wq, wk, wv, wo = map(exact, weights)
    layer = torch.nn.MultiheadAttention(
        wq.shape[1], num_heads, bias=False, batch_first=True, dtype=torch.float64
    )
    layer.load_state_dict(
        {"in_proj_weight": torch.cat([wq, wk, wv]), "out_proj.weight": wo}
    )
    bias = None if mask is None else exact(mask)
    batches = [exact(one).reshape(-1, *one.shape[-2:]) for one in inputs]
    value, _ = layer(*batches, attn_mask=bias, need_weights=False)
    value = value.reshape(inputs[0].shape)
    return layer_truth(value, wq.shape[1], inputs[0].dtype)
