"""Week 3, day 1: what a batch saves, and what it wastes."""

from typing import Any

from tiny_llm_course.book.drawing import Drawing

from .counting import SLOTS, TEXTS, queue, saved
from .pictures import draw_rows


def numbers() -> dict[str, Any]:
    """Return the numbers of the text."""
    at_once, together = (queue(SLOTS, waits=waits) for waits in (False, True))
    return {
        "texts": len(TEXTS),
        "slots": SLOTS,
        "alone": queue(1, waits=False),
        "at_once": at_once,
        "together": together,
        "sooner": together["steps"] / at_once["steps"],
        "saved": [saved(rows) for rows in (1, 2, 4, 8, 16)],
    }


def drawings() -> dict[str, Drawing]:
    """Return rows of different length."""
    return {"rows": draw_rows}


def data() -> dict[str, Any]:
    """Return what the interactive figure starts from."""
    return {"filled-slots": {"texts": TEXTS, "slots": SLOTS}}
