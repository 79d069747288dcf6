"""A pair of channels that turns, in numbers to redo by hand."""

import math
from typing import Any

import mlx.core as mx

from tiny_llm_course.specimens import mistake
from tiny_llm_ref.positional_encoding import RoPE

# A pair for working by hand, at one radian per position, and a second one to meet it.
PAIR = (3.0, 1.0)
OTHER_PAIR = (2.0, 2.0)
MEETINGS = [(0, 0), (5, 3), (105, 103), (6, 3), (3, 5)]


def turn(vector: list[float] | tuple[float, ...], position: int) -> list[float]:
    """Rotate one vector as it would be at a position."""
    x = mx.array(vector).reshape(1, 1, 1, -1)
    return RoPE(len(vector), 256)(x, slice(position, position + 1)).flatten().tolist()


def turned_pair(pair: tuple[float, float], position: int) -> dict[str, float]:
    """Return what a pair becomes at a position, at one radian per position."""
    a, b = turn(pair, position)
    return {
        "cos": math.cos(position),
        "sin": math.sin(position),
        "a": a,
        "b": b,
        "length_squared": a * a + b * b,
    }


def meeting(query_position: int, key_position: int) -> dict[str, Any]:
    """Return the two pairs as turned, and their dot product."""
    query, key = turn(PAIR, query_position), turn(OTHER_PAIR, key_position)
    score = query[0] * key[0] + query[1] * key[1]
    distance = query_position - key_position
    return {
        "m": query_position,
        "n": key_position,
        "distance": distance,
        "query": query,
        "key": key,
        "score": score,
    }


def backwards() -> list[float]:
    """Return the first worked example, turned the wrong way."""
    x = mx.array(PAIR).reshape(1, 1, 1, 2)
    rotated_backwards = mistake("week_1_day_2", "rotated_backwards")
    return rotated_backwards(2, 8)(x, slice(1, 2)).flatten().tolist()
