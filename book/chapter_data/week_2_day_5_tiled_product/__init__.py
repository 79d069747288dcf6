"""Week 2, day 5: how often a weight is used, how a panel lies, what rounding costs."""

from typing import Any

from matplotlib.figure import Figure

from tiny_llm_course.book.drawing import style

from .counting import ladder, tile, work
from .pictures import draw_panel, draw_tile
from .rounding import costs
from .tiles import figure_data


def numbers() -> dict[str, Any]:
    """Return the numbers of the text."""
    return {"work": work(), "tile": tile(), "ladder": ladder(), "cost": costs()}


def drawings() -> dict[str, Figure]:
    """Draw the panel and the tile."""
    with style():
        return {"panel": draw_panel(), "tile": draw_tile()}


def data() -> dict[str, Any]:
    """Return what the interactive figure starts from."""
    return {"tiles": figure_data()}
