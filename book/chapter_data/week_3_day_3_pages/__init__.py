"""Week 3, day 3: what pages waste and share, and what a write into them costs."""

from typing import Any

from tiny_llm_course.book.drawing import Drawing

from .memory import (
    ANSWERS,
    COMMON,
    LONGEST,
    OWN,
    PAGE_SIZES,
    PLACES,
    STEPS,
    listed,
    served,
    texts,
    wasted,
)
from .pictures import draw_chain, draw_table
from .writing import allocated


def numbers() -> dict[str, Any]:
    """Return the numbers of the text."""
    return {
        "texts": len(OWN),
        "lengths": listed([len(one.tokens) for one in texts(STEPS)]),
        "places": PLACES,
        "longest": LONGEST,
        "common": COMMON,
        "steps": STEPS,
        "served": {way: served(way, 16, STEPS) for way in ("pages", "shared")},
        "buffers": PLACES // LONGEST,
        "waste": [wasted(one) for one in (1, 4, 16, 64, 128)],
        "write": [allocated(one) for one in (64, 256, 1024)],
    }


def drawings() -> dict[str, Drawing]:
    """Return a table with its pages, and a chain of hashes."""
    return {"table": draw_table, "chain": draw_chain}


def data() -> dict[str, Any]:
    """Return what the interactive figure starts from."""
    return {
        "pages-of-texts": {
            "places": PLACES,
            "longest": LONGEST,
            "common": COMMON,
            "own": OWN,
            "answers": ANSWERS,
            "sizes": PAGE_SIZES,
            "steps": STEPS,
        }
    }
