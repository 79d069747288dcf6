"""Softmax and attention, in numbers to redo by hand."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import mlx.core as mx
import numpy as np

from tiny_llm_ref.attention import scaled_dot_product_attention_simple as attention
from tiny_llm_ref.basics import softmax

# One query and three keys of width 4, whose scores are 4, 2 and 0 before the scale.
QUERY = [[2.0, 0.0, 1.0, 1.0]]
KEYS = [[2.0, 1.0, 0.0, 0.0], [0.0, 2.0, 1.0, 1.0], [0.0, 3.0, -1.0, 1.0]]
VALUES = [[10.0, 0.0, 0.0, 4.0], [0.0, 10.0, 0.0, 4.0], [0.0, 0.0, 10.0, 4.0]]


def shares(scores: Sequence[float]) -> list[float]:
    """Return the softmax of a few scores."""
    return softmax(mx.array(scores), axis=-1).tolist()


def softmax_by_hand() -> Mapping[str, Any]:
    """Work the softmax of 2, 1 and 0, as they are and with the maximum subtracted."""
    plain = [math.exp(score) for score in (2, 1, 0)]
    shifted = [math.exp(score - 2) for score in (2, 1, 0)]
    return {
        "exponentials": plain,
        "total": sum(plain),
        "shares": shares([2.0, 1.0, 0.0]),
        "shifted": shifted,
        "shifted_total": sum(shifted),
        "doubled": shares([4.0, 2.0, 0.0]),
        "ratio": math.e,
        "large": shares([1000.0, 999.0, -1000.0]),
    }


def limits() -> Mapping[str, Any]:
    """Say from which whole number on the exponential overflows."""
    largest = {"float32": np.finfo(np.float32).max, "float16": np.finfo(np.float16).max}
    return {
        name: {"largest": float(value), "overflows": math.ceil(math.log(float(value)))}
        for name, value in largest.items()
    }


def attention_by_hand() -> Mapping[str, Any]:
    """Work one query through: scores, scale, shares, and what is collected."""
    query, keys, values = mx.array(QUERY), mx.array(KEYS), mx.array(VALUES)
    scores = [round(score) for score in (query @ keys.T)[0].tolist()]
    return {
        "scores": scores,
        "scaled": [round(score / 2) for score in scores],
        "shares": shares([score / 2 for score in scores]),
        "output": attention(query, keys, values)[0].tolist(),
        "unscaled": shares([float(score) for score in scores]),
        "forbidden": shares([-math.inf, *(score / 2 for score in scores[1:])]),
        "forbidden_output": attention(
            query, keys, values, mask=mx.array([[-math.inf, 0.0, 0.0]])
        )[0].tolist(),
    }
