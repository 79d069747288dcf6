"""Week 2, day 7: operations counted, rows by hand, and loops around their passes."""

from typing import Any

from tiny_llm_course.book.drawing import Drawing

from . import costs, neighbours
from .by_hand import angles, moments, one_row, passes
from .exponential import constants, what_terms_buy
from .measured import operations_saved, times_us
from .operations import of_a_token, of_the_parts
from .pictures import draw_blend, draw_passes, draw_rounds, draw_table


def numbers() -> dict[str, Any]:
    """Return the numbers of the text."""
    token = of_a_token()
    return {
        "token": token,
        "saved": operations_saved(token["products"]["all"], token["everything"]["all"]),
        "parts": of_the_parts(),
        "row": one_row(),
        "angle": angles(),
        "moments": moments(),
        "passes": passes(),
        "times": times_us(),
        "exponential": what_terms_buy(),
        "costs": costs.numbers(),
        "near": neighbours.numbers(),
    }


def drawings() -> dict[str, Drawing]:
    """Return what draws trips through memory, registers, a table and rounds."""
    return {
        "passes": draw_passes,
        "blend": draw_blend,
        "table": draw_table,
        "rounds": draw_rounds,
    }


def data() -> dict[str, Any]:
    """Return what the interactive figures start from."""
    return {"operation-costs": costs.figure_data(), "exponential": constants()}
