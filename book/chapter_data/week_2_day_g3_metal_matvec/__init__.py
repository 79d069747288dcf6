"""Week 2, day G3: who takes which weights, and what the simulator counts."""

from collections.abc import Mapping
from typing import Any

from .counted import costs, table
from .counting import embedded, figure_data, qwen2_matrix


def numbers() -> dict[str, Any]:
    """Return the numbers of the text."""
    return {"matrix": qwen2_matrix(), "embedded": embedded(), "cost": costs()}


def tables() -> Mapping[str, Any]:
    """Return what each kernel costs."""
    return {"costs": table()}


def data() -> Mapping[str, Any]:
    """Return what the interactive figure starts from."""
    return {"lanes-and-lines": figure_data()}
