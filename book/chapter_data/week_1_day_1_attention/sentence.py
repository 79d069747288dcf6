"""The sentence of the interactive figure."""

import math
from collections.abc import Mapping
from typing import Any

import mlx.core as mx
import numpy as np

from tiny_llm_ref.attention import scaled_dot_product_attention_simple as attention

# The sentence of the interactive figure, in English "the old cat sees the bird": its
# words are in the chapter. The channels, from left to right, stand for article,
# adjective, noun and verb: a key says what a word is, a query what it seeks.
CAT, SEES, BIRD = 2, 3, 5

WORD_QUERIES = [
    [0, 1, 2, 0],
    [0, -1, 2, 0],
    [1, 2, -1, 0],
    [0, 0, 3, 1],
    [0, 1, 2, 0],
    [2, 1, 0, 1],
]

WORD_KEYS = [
    [2, 0, 0, 0],
    [0, 2, 0, 0],
    [0, 0, 3, 0],
    [0, 0, 0, 2],
    [2, 0, 0, 0],
    [0, 0, 2, 0],
]


def words_at_a_glance() -> Mapping[str, Any]:
    """Return what the interactive figure shows before it is touched."""
    query = mx.array(WORD_QUERIES).astype(mx.float32)
    key = mx.array(WORD_KEYS).astype(mx.float32)
    weights = np.array(attention(query, key, mx.eye(len(WORD_KEYS))))
    sees = weights[SEES]
    return {
        "cat": float(sees[CAT]),
        "bird": float(sees[BIRD]),
        "entropy": float(-(sees * np.log2(sees)).sum()),
        "most_entropy": math.log2(len(WORD_KEYS)),
        "half": 1 / 2,
        "quarter": 1 / 4,
    }
