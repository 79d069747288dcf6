"""Week 2, day 5: how often a weight is used, a neighbour, what rounding costs."""

from typing import Any

from tiny_llm_course.book.drawing import Drawing

from . import neighbour
from .by_hand import by_hand
from .counting import few, ladder, tile, work
from .pictures import draw_panel, draw_registers, draw_tile
from .rounding import costs
from .tiles import figure_data


def numbers() -> dict[str, Any]:
    """Return the numbers of the text."""
    return {
        "work": work(),
        "tile": tile(),
        "ladder": ladder(),
        "few": few(),
        "cost": costs(),
        "near": neighbour.numbers(),
        "hand": by_hand(),
    }


def drawings() -> dict[str, Drawing]:
    """Return the figures of the text."""
    return {
        "registers": draw_registers,
        "knob": neighbour.draw_knob,
        "panel": draw_panel,
        "tile": draw_tile,
    }


def data() -> dict[str, Any]:
    """Return what the interactive figure starts from."""
    return {"tiles": figure_data()}
