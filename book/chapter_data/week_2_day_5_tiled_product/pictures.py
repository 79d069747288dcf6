"""What is in the registers of a tile, how a panel lies, and what a tile needs."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from tiny_llm_course.book.diagrams import arrow, blank, words
from tiny_llm_course.book.drawing import INK, MUTED, PAPER, SERIES, Texts

from .by_hand import P, Q, X, dots, sums_after, weights

Look = tuple[str, float]


def draw_registers(text: Texts) -> Figure:
    """Draw two registers of a panel, and what two tokens add up with them."""
    figure = Figure(figsize=(5, 2.9))
    axes = figure.subplots()
    blank(axes, (-7.4, 10.2), (-8.7, 1.2))
    y = 0.0
    for column in range(2):
        name = text["panel"].format(column=column)
        _register(axes, y, name, _written(weights()[:, column]), (SERIES[1], 0.3))
        y -= 1.35
        for token, sums in enumerate(sums_after(column + 1)):
            name = text["sums"].format(token=token, x=_signed(X[token][column]))
            _register(axes, y, name, _written(sums), (SERIES[2], 0.25))
            y -= 1.35
        y -= 0.35
    return figure


def draw_panel(text: Texts) -> Figure:
    """Draw four rows of eight bytes, the panel of them, and one instruction."""
    figure = Figure(figsize=(5, 4.0))
    axes = figure.subplots()
    blank(axes, (-2.6, 16.6), (-10.6, 5.6))
    words(axes, (4, 5.1), text["matrix"], size=9)
    for row, numbers in enumerate(Q):
        words(axes, (-0.3, 4.0 - 1.1 * row), text["row"].format(row=row), ha="right")
        for place, number in enumerate(numbers):
            _box(axes, (place, 3.55 - 1.1 * row), str(number), _of_row(row, place))
    arrow(axes, (4, -0.1), (4, -0.9))
    words(axes, (8, -1.4), text["panel"], size=9)
    for line in range(2):
        for row, numbers in enumerate(Q):
            for place in range(4):
                at = (4 * row + place, -2.9 - 1.2 * line)
                number = str(numbers[4 * line + place])
                _box(axes, at, number, _of_row(row, 4 * line))
    words(axes, (8, -5.3), text["token"], size=9)
    for row in range(4):
        for place, number in enumerate(P):
            _box(axes, (4 * row + place, -6.8), str(number), (SERIES[4], 0.2))
    words(axes, (8, -7.7), text["dots"], size=9)
    for row, dot in enumerate(dots()):
        _box(axes, (4 * row, -9.2), str(dot), _of_row(row, 0), width=4)
    words(axes, (8, -10.1), text["more"], size=9, color=MUTED)
    return figure


def draw_tile(text: Texts) -> Figure:
    """Draw activations, a panel, and the tile of the result between them."""
    figure = Figure(figsize=(5, 2.9))
    axes = figure.subplots()
    blank(axes, (-3.6, 12.6), (-5.3, 6.6))
    _field(axes, (0, 0), (6.0, 3.0), SERIES[0], text["x"])
    _field(axes, (7.2, 3.7), (2.4, 2.2), SERIES[1], "")
    words(axes, (11.2, 4.8), f"{text['panel']}\n{text['outputs']}")
    _field(axes, (7.2, 0), (2.4, 3.0), SERIES[2], f"{text['sums']}\n{text['of_tile']}")
    words(axes, (11.2, 1.5), f"{text['tile']}\n{text['registers']}")
    _field(axes, (4.8, 0), (0.5, 3.0), INK, "")
    _field(axes, (7.2, 4.9), (2.4, 0.35), INK, "")
    words(axes, (4.0, -0.6), text["four"], color=MUTED)
    words(axes, (5.6, 5.1), text["same"], color=MUTED)
    for number in range(3):
        step = f"{number + 1}. {text[f'step_{number + 1}']}"
        words(axes, (-3.4, -2.0 - 1.2 * number), step, ha="left")
    return figure


def _of_row(row: int, place: int) -> Look:
    """Return the colour of a byte: that of its row, strong in the first columns."""
    return SERIES[row], 0.4 if place < 4 else 0.15


def _signed(number: int) -> str:
    """Write a number that is added, or its size where it is taken away."""
    return f"{'-' if number < 0 else '+'} {abs(number)}"


def _written(numbers: np.ndarray) -> list[str]:
    return [str(one) for one in numbers]


def _register(
    axes: Axes, y: float, name: str, numbers: Sequence[str], look: Look
) -> None:
    """Draw a register of four lanes, with its name on the left."""
    words(axes, (-0.3, y + 0.5), name, size=9, ha="right")
    for lane, number in enumerate(numbers):
        _box(axes, (2.5 * lane, y), number, look, width=2.5)


def _box(
    axes: Axes, corner: tuple[float, float], number: str, look: Look, width: float = 1
) -> None:
    """Draw a number in a box."""
    frame = INK if width > 1 else PAPER
    axes.add_patch(Rectangle(corner, width, 1, fc=look, ec=frame, lw=0.7))
    words(axes, (corner[0] + width / 2, corner[1] + 0.5), number, size=8)


def _field(
    axes: Axes,
    corner: tuple[float, float],
    size: tuple[float, float],
    colour: str,
    text: str,
) -> None:
    """Draw a part of a matrix."""
    axes.add_patch(Rectangle(corner, *size, fc=(colour, 0.25), ec=colour, lw=1))
    middle = (corner[0] + size[0] / 2, corner[1] + size[1] / 2)
    words(axes, middle, text)
