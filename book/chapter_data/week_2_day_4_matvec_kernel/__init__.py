"""Week 2, day 4: a group by hand, what rounding costs, and how fast each variant is."""

from collections.abc import Mapping
from typing import Any

from tiny_llm_course.book.drawing import Drawing

from . import neighbour
from .activations import figure_data
from .by_hand import group_of_eight
from .counting import qwen2_matrix, registers
from .ladder import draw_ladder, ladder_table, measured
from .pictures import draw_lanes, draw_planes
from .rounding import costs


def numbers() -> dict[str, Any]:
    """Return the numbers of the text."""
    return {
        "eight": group_of_eight(),
        "matrix": qwen2_matrix(),
        "register": registers(),
        "cost": costs(),
        "ladder": measured(),
        "near": neighbour.numbers(),
    }


def drawings() -> dict[str, Drawing]:
    """Return the lanes, the planes, and what the variants reach."""
    return {
        "lanes": draw_lanes,
        "planes": draw_planes,
        "ladder": draw_ladder,
        "floats": neighbour.draw_floats,
        "bytes": neighbour.draw_bytes,
    }


def tables() -> Mapping[str, Any]:
    """Return what the lab has measured."""
    return {"ladder": ladder_table()}


def data() -> Mapping[str, Any]:
    """Return what the interactive figures start from."""
    return {
        "race-with-memory": neighbour.race(),
        "rounded-activations": figure_data(),
    }
