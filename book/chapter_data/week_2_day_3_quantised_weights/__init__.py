"""Week 2, day 3: eight weights by hand, what quantising costs, and what it brings."""

from typing import Any

from tiny_llm_course.book.drawing import Drawing
from tiny_llm_lab import measured
from tiny_llm_lab.bench.models import EMBEDDED_MODEL

from .by_hand import (
    ROW,
    by_groups,
    equal_ends,
    half_precision,
    outlier,
    row_of_eight,
    stored,
    without_the_move,
)
from .counting import (
    bits_per_weight,
    bytes_per_weight,
    embedded_bytes,
    operations,
    qwen2_bytes,
)
from .pictures import draw_errors, draw_grid, draw_groups, draw_word
from .trained import costs


def numbers() -> dict[str, Any]:
    """Return the numbers of the text."""
    return {
        "row": row_of_eight(),
        "eight": stored(ROW, bits=8),
        "unmoved": without_the_move(),
        "equal": equal_ends(),
        "outlier": outlier(),
        "half": half_precision(),
        "sums": by_groups(),
        "bits": bits_per_weight(),
        "bytes": bytes_per_weight(),
        "ours": embedded_bytes(),
        "qwen2": qwen2_bytes(),
        "operations": operations(),
        "cost": costs(),
        "speed": {
            "dense": measured.speed_of_rung("cache", EMBEDDED_MODEL, 32),
            "packed": measured.speed_of_rung("quantised", EMBEDDED_MODEL, 32),
        },
        "error_growth": costs()["b4"]["g64"]["error"] / costs()["b8"]["g64"]["error"],
    }


def drawings() -> dict[str, Drawing]:
    """Return the grid, the word, the groups, and the errors."""
    return {
        "grid": draw_grid,
        "word": draw_word,
        "groups": draw_groups,
        "errors": draw_errors,
    }


def data() -> dict[str, Any]:
    """Return what the interactive figure starts from."""
    return {"quantisation-levels": {"weights": ROW}}
