"""Day 2 of Week 2: what a token costs, and what one machine can do about it."""

from typing import Any

from tiny_llm_course.book.drawing import Drawing

from .choices import choices, several_texts
from .costs import (
    by_hand,
    crossing,
    formats,
    library,
    machine_numbers,
    prefill,
    qwen2_0_5b,
)
from .pictures import draw_bytes, draw_roofline


def numbers() -> dict[str, Any]:
    """Return what the text quotes."""
    return {
        "toy": by_hand(),
        "machine": machine_numbers(),
        "real": qwen2_0_5b(),
        "format": formats(),
        "library": library(),
        "prefill": prefill(),
        "crossing": crossing(),
        "several": several_texts(),
    }


def drawings() -> dict[str, Drawing]:
    """Return the roofline with the work of a model under it, and its bytes by kind."""
    return {
        "roofline": draw_roofline,
        "bytes": draw_bytes,
    }


def data() -> dict[str, Any]:
    """Return what the interactive figure starts from."""
    return {"roofline-of-a-model": choices()}
