"""Week 2, day G4: how often tiles read a byte, and what the simulator counts."""

from collections.abc import Mapping
from typing import Any

from tiny_llm_course.book.embedded import sizes

from .counted import DEPTH, OWN_SIDE, SIZE, costs, table

TOKENS, ROWS, COLUMNS = 256, 4864, 896
SHARED_BYTES = 32 * 1024


def numbers() -> dict[str, Any]:
    """Return the numbers of the text."""
    cost = costs()
    return {
        "cost": cost,
        "ratio": {
            "tiles": cost["tiles_1"]["bytes"] / cost["tiles_16"]["bytes"],
            "matrices": cost["tiles_16"]["turns"] / cost["matrices"]["turns"],
            "padding": cost["tiles_unpadded"]["turns"] / cost["tiles_16"]["turns"],
        },
        "gate": _gate(),
        "embedded": sizes().hidden_size,
        "size": SIZE,
        "side": OWN_SIDE,
        "depth": DEPTH,
        "threads": OWN_SIDE**2,
        "words": OWN_SIDE * DEPTH * 4 // 32,
        "entries": OWN_SIDE * DEPTH,
        "shared_bytes": 2 * 4 * OWN_SIDE * (DEPTH + 1),
        "shared_most": SHARED_BYTES,
        "deepest": SHARED_BYTES // (2 * 4 * OWN_SIDE) - 1,
    }


def tables() -> Mapping[str, Any]:
    """Return what each kernel costs."""
    return {"costs": table()}


def data() -> Mapping[str, Any]:
    """Return what the interactive figure starts from."""
    return {
        "marching-tiles": {"rows": 48, "columns": 128, "depth": DEPTH, "padding": 1}
    }


def _gate() -> dict[str, Any]:
    """Count Qwen2-0.5B's gate, and how often a prompt reads it."""
    return {
        "rows": ROWS,
        "columns": COLUMNS,
        "tokens": TOKENS,
        "times": TOKENS // OWN_SIDE,
        "tiles": (TOKENS // OWN_SIDE) * (ROWS // OWN_SIDE),
        "blocks": (TOKENS // 32) * (ROWS // 32),
        "steps": COLUMNS // DEPTH,
        "waits": 2 * COLUMNS // DEPTH,
    }
