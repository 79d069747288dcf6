"""Week 3, day 2: what a step costs, and who computes what in it."""

from collections.abc import Mapping, Sequence
from typing import Any

from .costs import figure_data, step_costs
from .served import CUT, SCARCE, cut_numbers, scarce_numbers, table_of


def numbers() -> dict[str, Any]:
    """Return the numbers of the text."""
    return {
        "costs": step_costs(),
        "cut": cut_numbers(),
        "scarce": scarce_numbers(),
    }


def tables() -> Mapping[str, Sequence[Sequence[str]]]:
    """Return who computes how much in each step of two loads."""
    return {"cut": table_of(CUT), "scarce": table_of(SCARCE)}


def data() -> dict[str, Any]:
    """Return what the interactive figure starts from."""
    return {"token-budget": figure_data()}
