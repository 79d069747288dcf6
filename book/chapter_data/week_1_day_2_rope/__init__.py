"""Day 2: what turns, how fast, and what precision does to it."""

import math
from typing import Any

from tiny_llm_course.book.drawing import Drawing
from tiny_llm_course.book.embedded import checkpoint, head_dim, sizes

from .breaking import told
from .by_hand import MEETINGS, PAIR, backwards, meeting, turned_pair
from .model import model_with_other_rotations
from .pictures import draw_pairings, draw_rotation
from .positions import (
    BASES,
    CONTEXT,
    HEAD_DIM,
    ROUNDED,
    draw_distance,
    rounded,
    speeds,
    worst_errors,
)

# Vectors of eight channels, whose first pair (x_0, x_4) has its best score at distance
# 1.1: the key points 1.1 radians further than the query. The figure and the example in
# the text use them, too.
QUERY = [2.0, 1.0, 2.0, 1.0, 0.0, 1.0, 1.0, 1.0]
KEY = [1.0, 1.0, 1.0, 0.0, 2.0, 0.0, 2.0, 1.0]


def numbers() -> dict[str, Any]:
    """Return what stands in the text."""
    return {
        "pair": [turned_pair(PAIR, position) for position in range(4)],
        "meeting": [meeting(query, key) for query, key in MEETINGS],
        "backwards": backwards(),
        "radian_in_degrees": math.degrees(1),
        "one_turn": 2 * math.pi,
        "speed": speeds(8, 10000),
        "turn": [2 * math.pi / one for one in speeds(8, 10000)],
        "slowest_turn": [2 * math.pi / speeds(HEAD_DIM, base)[-1] for base in BASES],
        "rounded": [rounded(position) for position in ROUNDED],
        "radians_off": worst_errors(),
        "float32_step": CONTEXT // 2 * 2.0**-23,
        "config": {key: checkpoint().config[key] for key in _SETTINGS},
        "head_dim": head_dim(),
        "embedded_turn": 2 * math.pi / speeds(head_dim(), sizes().rope_theta)[-1],
        "model": model_with_other_rotations(),
        "told": told(),
    }


def drawings() -> dict[str, Drawing]:
    """Return the figures of the chapter."""
    return {
        "rotation": draw_rotation,
        "pairings": draw_pairings,
        "distance": draw_distance,
    }


def data() -> dict[str, Any]:
    """Return what the interactive figure starts from."""
    return {
        "rotary-dials": {"query": QUERY, "key": KEY, "bases": BASES, "context": CONTEXT}
    }


_SETTINGS = (
    "num_attention_heads",
    "num_key_value_heads",
    "max_position_embeddings",
    "rope_theta",
    "num_hidden_layers",
)
