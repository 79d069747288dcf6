"""Arrows, matrices, and tables of numbers."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from tiny_llm_course.book.diagrams import arrow, blank, cell, path, words
from tiny_llm_course.book.drawing import INK, MUTED, SERIES, Texts


def draw_dot_products(text: Texts) -> Figure:
    """Draw a query and three keys as arrows in the plane, with their dot products."""
    figure = Figure(figsize=(5, 2.5))
    axes = figure.subplots()
    query = np.array([2.0, 1.0])
    arrow(axes, (0, 0), (2, 1), INK, lw=1.8)
    axes.text(1.8, 1.25, text["query"], ha="center", va="center", color=INK)
    keys = ([3.0, 1.0], [-1.0, 2.0], [-2.0, 0.0])
    for number, (x, y) in enumerate(keys, 1):
        colour = SERIES[number - 1]
        arrow(axes, (0, 0), (x, y), colour, lw=1.8)
        product = f"{query @ [x, y]:.0f}".replace("-", "\N{MINUS SIGN}")
        label = text["key"].format(number=number, product=product)
        align, aside = ("left", 0.1) if x > 0 else ("right", -0.1)
        axes.text(x + aside, y, label, ha=align, va="center", color=colour)
    axes.set(xlim=(-3.6, 4.6), ylim=(-0.4, 2.5), aspect="equal")
    axes.set(xlabel=text["x"], ylabel=text["y"])
    return figure


# Left edge, middle height, rows, columns, and the letters of both, in units of a cell.
_MATRICES = {
    "query": (0.0, 2.5, 2, 3, "L", "D", SERIES[0]),
    "key": (5.1, 2.5, 3, 5, "D", "S", SERIES[1]),
    "scores": (12.2, 2.5, 2, 5, "L", "S", SERIES[3]),
    "weights": (0.0, 10.3, 2, 5, "L", "S", SERIES[3]),
    "value": (7.1, 10.3, 5, 3, "S", "D", SERIES[2]),
    "result": (12.2, 10.3, 2, 3, "L", "D", SERIES[4]),
}

_SIGNS = ((4.0, 2.5, "@"), (11.2, 2.5, "="), (6.0, 10.3, "@"), (11.2, 10.3, "="))


def draw_shapes(text: Texts) -> Figure:
    """Draw the matrices of attention as rectangles, with L = 2, S = 5 and D = 3."""
    figure = Figure(figsize=(5, 3.8))
    axes = figure.subplots()
    for name in _MATRICES:
        _draw_matrix(axes, name, text[name])
    for x, y, operator in _SIGNS:
        words(axes, (x, y), operator, size=11)
    path(axes, [(14.7, 4.9), (14.7, 6.2), (2.5, 6.2), (2.5, 8.3)], MUTED)
    words(axes, (8.6, 6.0), text["between"], va="bottom")
    blank(axes, (-1.2, 18), (13.9, -0.1), aspect="equal")
    return figure


def _draw_matrix(axes: Axes, name: str, label: str) -> None:
    """Draw one of `_MATRICES` cell by cell, with the letters of its axes."""
    x, middle, height, width, down, across, colour = _MATRICES[name]
    top = middle - height / 2
    for i, j in np.ndindex(height, width):
        cell(axes, (x + j, top + i), (colour, 0.22), ec=colour, lw=0.8)
    centre = x + width / 2
    words(axes, (x - 0.2, middle), down, ha="right", size=8)
    words(axes, (centre, top - 0.1), across, va="bottom", size=8)
    words(axes, (centre, top + height + 0.15), label, va="top")


def draw_splitting(text: Texts) -> Figure:
    """Draw 0 to 23 as three tokens, and two ways to make two heads of them."""
    figure = Figure(figsize=(5, 3.5))
    axes = figure.subplots()
    tokens = np.arange(24).reshape(3, 8)
    right = tokens.reshape(3, 2, 4).swapaxes(0, 1)
    wrong = tokens.reshape(2, 3, 4)
    _draw_numbers(axes, (0.0, 0.0), tokens, text["tokens"])
    for number, top in ((1, 5.3), (2, 9.9)):
        head = text["head"].format(number=number)
        no_head = text["no_head"].format(number=number)
        _draw_numbers(axes, (-1.2, top), right[number - 1], head)
        _draw_numbers(axes, (5.2, top), wrong[number - 1], no_head)
    words(axes, (0.8, 4.1), text["cut"], size=9, weight="bold")
    words(axes, (7.2, 4.1), text["reshape"], size=9, weight="bold")
    blank(axes, (-2.6, 10.6), (13.1, -1.0), aspect="equal")
    return figure


def _draw_numbers(
    axes: Axes, corner: tuple[float, float], block: NDArray[np.int_], label: str
) -> None:
    """Draw a table of numbers, each in the colour of the token that it came from."""
    left, top = corner
    for (i, j), number in np.ndenumerate(block):
        colour = SERIES[number // 8]
        x, y = left + j, top + i
        cell(axes, (x, y), (colour, 0.25), side=0.94)
        words(axes, (x + 0.47, y + 0.5), str(number), size=8)
    at = (left, top - 0.15)
    words(axes, at, label, ha="left", va="bottom", size=8, color=MUTED)
