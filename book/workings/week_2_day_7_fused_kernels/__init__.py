"""Week 2, day 7: operations counted, a row by hand, angles, and passes over memory."""

from typing import Any

from matplotlib.figure import Figure

from tiny_llm_course.book.drawing import style

from .by_hand import angles, one_row, passes
from .operations import of_a_token, of_the_parts
from .pictures import draw_passes


def numbers() -> dict[str, Any]:
    """Return the numbers of the text."""
    return {
        "token": of_a_token(),
        "parts": of_the_parts(),
        "row": one_row(),
        "angle": angles(),
        "passes": passes(),
    }


def drawings() -> dict[str, Figure]:
    """Draw the trips of a row through memory."""
    with style():
        return {"passes": draw_passes()}
