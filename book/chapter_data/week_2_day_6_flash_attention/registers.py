"""What the registers of a rung hold: a tile of scores, rows as lanes, e^x, a value."""

import math
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from tiny_llm_course.book.diagrams import blank, words
from tiny_llm_course.book.drawing import INK, MUTED, SERIES, Texts

from .by_hand import MORE_SCORES, SCORES

LANE = 2.3
"""The width of a lane, where the height of a line is 1."""

Line = tuple[str, Sequence[str], int]
"""The name of a register, what is in its lanes, and the number of its colour."""

ROWS = ((1.0, 3.0, 2.0, 4.0), (5.0, 0.0, 3.0, 2.0), (2.0, 6.0, 1.0, 1.0))
"""Scores of four rows for three keys: a key for each register."""

VALUE, WEIGHTS = (2.0, -1.0, 0.5, 3.0), (1.0, 0.25, 0.5)
"""Four numbers of a value, and the weights of three heads."""


def draw_tile(text: Texts) -> Figure:
    """Draw the second tile of the figure's keys, with four scores as lanes."""
    old_top, top = max(SCORES), max(SCORES + MORE_SCORES)
    shifted = [score - top for score in MORE_SCORES]
    weights = [math.exp(one) for one in shifted]
    lines = (
        (text["scores"], _whole(MORE_SCORES), 0),
        (text["shifted"], _whole(shifted), 1),
        (text["weights"], _written(weights), 2),
    )
    figure, axes = _registers(lines, below=3.6)
    old_total = sum(math.exp(score - old_top) for score in SCORES)
    factor = math.exp(old_top - top)
    total = old_total * factor + sum(weights)
    _note(axes, -3.2, text["across"].format(top=f"{top:g}", sum=f"{sum(weights):.4f}"))
    _note(axes, -4.4, f"t = {old_total:.4f} · {factor:.4f} + {sum(weights):.4f}")
    _note(axes, -5.4, f"= {total:.4f}")
    return figure


def draw_rows(text: Texts) -> Figure:
    """Draw four rows as lanes: three scores of each, its maximum and its sum."""
    columns = list(zip(*ROWS, strict=True))
    tops = [max(column) for column in columns]
    totals = [
        sum(math.exp(score - top) for score in column)
        for column, top in zip(columns, tops, strict=True)
    ]
    lines = (
        *(
            (text["key"].format(number=number), _whole(row), 0)
            for number, row in enumerate(ROWS)
        ),
        (text["tops"], _whole(tops), 1),
        (text["totals"], _written(totals), 2),
    )
    figure, axes = _registers(lines, below=1.0, above=1.3)
    for lane in range(len(tops)):
        middle = LANE * (lane + 0.5)
        words(axes, (middle, 1.6), text["row"].format(number=lane), size=9, color=MUTED)
    _note(axes, -1.2 * len(lines) + 0.4, text["apart"])
    return figure


def draw_exponentials(text: Texts) -> Figure:
    """Draw how four lanes become powers of e, step by step."""
    x = [score - max(MORE_SCORES) for score in MORE_SCORES]
    n = [round(one / math.log(2)) for one in x]
    r = [one - whole * math.log(2) for one, whole in zip(x, n, strict=True)]
    powers = [math.exp(one) for one in r]
    lines = (
        ("x", _whole(x), 0),
        ("n", [str(one) for one in n], 1),
        ("r", _written(r), 3),
        (text["polynomial"], _written(powers), 3),
        (text["exponent"], [str(127 + one) for one in n], 1),
        (text["result"], _written([math.exp(one) for one in x]), 2),
    )
    figure, _ = _registers(lines, below=0)
    return figure


def draw_value(text: Texts) -> Figure:
    """Draw a value that is loaded once, and used for the sums of three heads."""
    lines = (
        (text["value"], _whole(VALUE), 0),
        *(
            (
                text["head"].format(number=number, weight=f"{weight:g}"),
                _whole([weight * one for one in VALUE]),
                number + 1,
            )
            for number, weight in enumerate(WEIGHTS)
        ),
    )
    figure, axes = _registers(lines, below=1.0)
    _note(axes, -1.2 * len(lines) + 0.4, text["added"])
    return figure


def _registers(
    lines: Sequence[Line], *, below: float, above: float = 0.3
) -> tuple[Figure, Axes]:
    """Draw registers one below the other, with room for notes."""
    low, high = -1.2 * len(lines) - below + 1, 1 + above
    figure = Figure(figsize=(3.8, 0.3 * (high - low)))
    axes = figure.subplots()
    blank(axes, (-5.2, 4 * LANE + 0.1), (low, high))
    for place, (name, texts, hue) in enumerate(lines):
        y = -1.2 * place
        words(axes, (-0.3, y + 0.5), name, size=9, ha="right")
        for lane, one in enumerate(texts):
            fill = (SERIES[hue], 0.22)
            axes.add_patch(
                Rectangle((LANE * lane, y), LANE, 1, fc=fill, ec=INK, lw=0.7)
            )
            words(axes, (LANE * (lane + 0.5), y + 0.5), one, size=9)
    return figure, axes


def _note(axes: Axes, y: float, text: str) -> None:
    """Write a line below the registers."""
    words(axes, (2 * LANE - 2.4, y), text, size=9)


def _whole(numbers: Sequence[float]) -> list[str]:
    return [f"{one:g}" for one in numbers]


def _written(numbers: Sequence[float]) -> list[str]:
    return [f"{one:.4f}" for one in numbers]
