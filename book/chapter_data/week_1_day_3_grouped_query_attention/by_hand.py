"""Four query heads, and masked scores, in numbers to redo by hand."""

from typing import Any

import mlx.core as mx

from tiny_llm_ref.attention import scaled_dot_product_attention_grouped
from tiny_llm_ref.basics import softmax


def worked_heads() -> list[dict[str, Any]]:
    """Follow one token through 4 query heads that share 2 key/value heads, D = 1."""
    query = [0.0, 1.0, 2.0, 3.0]
    key = mx.array([[0.0, 1.0], [1.0, 0.0]])
    value = mx.array([[10.0, 20.0], [30.0, 50.0]])
    queries = mx.array(query).reshape(4, 1, 1)
    right = scaled_dot_product_attention_grouped(
        queries, key[..., None], value[..., None]
    )
    turns = (mx.tile(one[..., None], (2, 1, 1)) for one in (key, value))
    wrong = scaled_dot_product_attention_grouped(queries, *turns)
    return [
        {
            "query": query[head],
            "scores": (query[head] * key[head // 2]).tolist(),
            "weights": softmax(query[head] * key[head // 2], -1).tolist(),
            "right": right[head].item(),
            "wrong": wrong[head].item(),
        }
        for head in range(4)
    ]


def worked_mask() -> dict[str, Any]:
    """Mask a row of three scores, and rows that lose all of theirs."""
    scores = mx.array([1.0, 2.0, 3.0])
    mask = mx.array([0.0, 0.0, -mx.inf])
    return {
        "free": softmax(scores, -1).tolist(),
        "exponentials": mx.exp(scores[:2]).tolist(),
        "sum": mx.exp(scores[:2]).sum().item(),
        "weights": softmax(scores + mask, -1).tolist(),
        "large": softmax(scores - 1e9, -1).tolist(),
    }
