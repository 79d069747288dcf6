"""Week 2, day 7: operations counted, a row by hand, angles, and passes over memory."""

from typing import Any

from matplotlib.figure import Figure

from tiny_llm_course.book.drawing import style

from .by_hand import angles, one_row, passes
from .exponential import constants, what_terms_buy
from .measured import times_us
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
        "times": times_us(),
        "exponential": what_terms_buy(),
    }


def drawings() -> dict[str, Figure]:
    """Draw the trips of a row through memory."""
    with style():
        return {"passes": draw_passes()}


def data() -> dict[str, Any]:
    """Return the constants that the interactive figure computes with."""
    return {"exponential": constants()}
