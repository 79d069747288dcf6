"""What the figures start from: a number for each query, key and value.

A head of width 1 has a scale of 1, so the kernels run on just these numbers.
"""

from collections.abc import Mapping
from typing import Any

from .counted import TILE, WIDTH

KEYS_OF_ONE, KEYS, QUERIES = 24, 96, 48

HALF_BYTES = 2


def parts() -> Mapping[str, Any]:
    """Return scores that rise and fall, and values."""
    scores = [0.25 * (3 + 5 * s % 13 + s // 2) for s in range(KEYS_OF_ONE)]
    scores[9], scores[18] = 7.0, 7.75
    return {"scores": scores, "values": [7 * s % 12 for s in range(KEYS_OF_ONE)]}


def tiles() -> Mapping[str, Any]:
    """Return what makes scores: the product of a query and a key."""
    return {
        "query": [0.25 * (4 + 3 * one % 7) for one in range(QUERIES)],
        "keys": [0.125 * (11 * one % 31 - 12) + one // 16 for one in range(KEYS)],
        "values": [5 * one % 16 for one in range(KEYS)],
        "tile": TILE,
        "width": WIDTH,
        "bytes": HALF_BYTES,
    }
