"""Week 2, day G5: who takes which keys, and what the simulator counts."""

from collections.abc import Mapping
from typing import Any

from .counted import (
    CONTEXT,
    LANES,
    LENGTH,
    OWN_GROUPS,
    OWN_QUERIES,
    PROMPT_GROUPS,
    TILE,
    WIDTH,
    costs,
    table,
)
from .walking import HALF_BYTES, parts, tiles
from .whole import whole_token

HEADS, KEY_HEADS = 14, 2
"""Of Qwen2-0.5B."""

PROMPT, CACHED, MOST_SHARED, FLOAT_BYTES = 1024, 4096, 32 * 1024, 4


def numbers() -> dict[str, Any]:
    """Return the numbers of the text."""
    cost = costs()
    unpadded, own = cost["prompt_16_unpadded"], cost["prompt_16"]
    return {
        "cost": cost,
        "ratio": {
            "queries": cost["prompt_4"]["bytes"] / cost["prompt_32"]["bytes"],
            "padding": unpadded["turns"] / own["turns"],
            "left_out": cost["prompt_16_all_tiles"]["bytes"] / own["bytes"],
            "prompt": cost["one_8"]["bytes"] / own["bytes"],
            "operations": cost["one_8"]["operations"] / own["operations"],
        },
        "groups": OWN_GROUPS,
        "queries": OWN_QUERIES,
        "own": OWN_QUERIES // PROMPT_GROUPS,
        "prompt_groups": PROMPT_GROUPS,
        "tile": TILE,
        "width": WIDTH,
        "each": WIDTH // LANES,
        "context": CONTEXT,
        "length": LENGTH,
        "shared": _shared(),
        "qwen2": _qwen2(),
        "whole": whole_token(),
        "key_bytes": HALF_BYTES * WIDTH,
    }


def tables() -> Mapping[str, Any]:
    """Return what each kernel costs."""
    return {"costs": table()}


def data() -> Mapping[str, Any]:
    """Return what the interactive figures start from."""
    return {"keys-in-parts": parts(), "causal-tiles": tiles()}


def _shared() -> dict[str, int]:
    """Count the bytes of threadgroup memory."""

    def of_prompt(queries: int, width: int) -> int:
        floats = queries * width + TILE * (width + 1) + queries * TILE
        return FLOAT_BYTES * floats

    return {
        "prompt": of_prompt(OWN_QUERIES, WIDTH),
        "wide": of_prompt(2 * OWN_QUERIES, 2 * WIDTH),
        "two_tiles": of_prompt(OWN_QUERIES, 2 * WIDTH)
        + FLOAT_BYTES * TILE * (2 * WIDTH + 1),
        "most": MOST_SHARED,
    }


def _qwen2() -> dict[str, Any]:
    """Count Qwen2-0.5B's heads, scores and keys."""
    return {
        "heads": HEADS,
        "key_heads": KEY_HEADS,
        "shared_by": HEADS // KEY_HEADS,
        "prompt": PROMPT,
        "scores_mb": HEADS * PROMPT**2 * HALF_BYTES / 1e6,
        "cached": CACHED,
        "keys_of_a_part": CACHED // OWN_GROUPS,
    }
