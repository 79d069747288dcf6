"""Attention on a GPU: kernels in Metal that never store a score in device memory."""

from typing import Any

import mlx.core as mx
from jaxtyping import Float

from tiny_llm_course import todo


def attention_one_token(
    query: Float[mx.array, "B H 1 D"],
    keys: Float[mx.array, "B H_kv S D"],
    values: Float[mx.array, "B H_kv S D"],
) -> Float[mx.array, "B H 1 D"]:
    """Attend to all keys, from one token.

        y = softmax(query keys^T / sqrt(D)) values

    A threadgroup computes a head, and its SIMD groups share the keys. No score is
    stored in device memory. All sums are in float32; the result has the dtype of the
    query.

    Args:
        query: What the new token looks for.
        keys: What each of the S tokens offers. Each of the H_kv heads serves H / H_kv
            neighbouring query heads.
        values: What each of them hands over, in the dtype of the keys.
    """
    todo("week 2, day G5, task 1")


def attention_prompt(
    query: Float[mx.array, "B H L D"],
    keys: Float[mx.array, "B H_kv S D"],
    values: Float[mx.array, "B H_kv S D"],
) -> Float[mx.array, "B H L D"]:
    """Attend from the last L tokens, each to those before it and to itself.

        y[l] = softmax(query[l] keys^T / sqrt(D), of keys 0 .. l + S - L) values

    A threadgroup computes some neighbouring queries of a head, and takes a tile of keys
    at a time. Tiles that none of them sees are not read.

    Args:
        query: What the new tokens look for. L is at most S.
        keys: As in `attention_one_token`, like the values.
        values: The last L of the S tokens are the new ones.
    """
    todo("week 2, day G5, task 2")
