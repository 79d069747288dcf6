"""Week 2, day G2: a row by hand, what each kernel costs, and the figures' rows."""

from collections.abc import Mapping
from typing import Any

from .by_hand import half_positions, one_row, sizes
from .costs import costs_table, counted
from .row import figure_data


def numbers() -> dict[str, Any]:
    """Return the numbers of the text."""
    return {
        "row": one_row(),
        "size": sizes(),
        "half": half_positions(),
        "costs": counted(),
    }


def tables() -> Mapping[str, Any]:
    """Return what the simulator has counted."""
    return {"costs": costs_table()}


def data() -> Mapping[str, Any]:
    """Return what the interactive figure starts from."""
    return {"row-in-two-passes": figure_data()}
