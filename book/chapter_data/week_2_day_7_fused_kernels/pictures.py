"""Trips through memory, registers, rows of a table, and rounds of threads."""

import math
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from tiny_llm_course.book.diagrams import arrow, blank, box, words
from tiny_llm_course.book.drawing import INK, MUTED, PAPER, SERIES, Texts

WIDTH = 3.8
"""Inches: words of 9 points are legible on a phone."""

OPERATIONS = (("scale", 1, 1), ("add", 2, 1), ("sum", 1, 0), ("squares", 1, 0))
"""Of the blend: each with the arrays that it reads and writes."""

A, X, Y = 0.5, (2, -4, 6, 0), (1, 1, -1, 3)
SUMS, SQUARES = (5, 0, -2, 1), (9, 4, 4, 1)
"""Four lanes of the blend, and what was added up before."""

ROUNDS = ((1.0, 0.7), (0.8, 1.1), (1.2, 0.8))
"""How long each of two cores works in a round."""

START = 0.3
"""How long a core takes to see that a round has begun."""


def draw_passes(text: Texts) -> Figure:
    """Draw four operations that go to memory and back, and a loop that does so once."""
    figure = Figure(figsize=(WIDTH, 2.5))
    axes = figure.subplots()
    blank(axes, (-0.6, 8.8), (-0.9, 4.0))
    for y, name in ((3.7, "processor"), (-0.6, "memory")):
        words(axes, (4.1, y), text[name], color=MUTED, size=9)
    axes.plot([-0.6, 8.8], [-0.15, -0.15], color=MUTED, lw=0.8)
    for place, (name, reads, writes) in enumerate(OPERATIONS):
        _trips(axes, 0.45 + 1.75 * place, text[name], SERIES[0], (reads, writes))
    _trips(axes, 7.8, text["one_loop"], SERIES[1], (2, 1))
    return figure


def _trips(
    axes: Axes, x: float, name: str, colour: str, arrays: tuple[int, int]
) -> None:
    """Draw a loop, with an arrow for each array that it reads or writes."""
    box(axes, (x, 2.75), "", colour, size=(1.6, 0.9))
    words(axes, (x, 2.75), name, size=9)
    reads, writes = arrays
    places = [x + 0.45 * (i - (reads + writes - 1) / 2) for i in range(reads + writes)]
    for i, place in enumerate(places):
        low, high = (place, 0.0), (place, 2.2)
        start, end = (low, high) if i < reads else (high, low)
        arrow(axes, start, end, colour)


def draw_blend(text: Texts) -> Figure:
    """Draw what four lanes hold when a row is blended in one loop."""
    z = [A * x + y for x, y in zip(X, Y, strict=True)]
    sums = [before + one for before, one in zip(SUMS, z, strict=True)]
    squares = [before + one * one for before, one in zip(SQUARES, z, strict=True)]
    rows: Sequence[tuple[str, Sequence[float], int]] = (
        ("x", X, 0),
        ("y", Y, 0),
        ("z", z, 1),
        ("sums", SUMS, 2),
        ("new_sums", sums, 2),
        ("squares", SQUARES, 3),
        ("new_squares", squares, 3),
    )
    figure = Figure(figsize=(WIDTH, 3.1))
    axes = figure.subplots()
    blank(axes, (-6.2, 8.4), (-8.2, 1.2))
    for place, (name, values, hue) in enumerate(rows):
        y = -1.25 * place
        words(axes, (-0.3, y + 0.5), text[name], size=9, ha="right")
        for lane, value in enumerate(values):
            _cell(
                axes,
                (2.1 * lane, y),
                f"{value:g}".replace("-", "\N{MINUS SIGN}"),
                SERIES[hue],
            )
    return figure


def _cell(
    axes: Axes,
    corner: tuple[float, float],
    text: str,
    colour: str,
    *,
    size: tuple[float, float] = (2.0, 1.0),
) -> None:
    """Draw a rectangle with a text in it."""
    width, height = size
    axes.add_patch(Rectangle(corner, width, height, fc=PAPER, ec="none"))
    axes.add_patch(Rectangle(corner, width, height, fc=(colour, 0.2), ec=INK, lw=0.7))
    middle = (corner[0] + width / 2, corner[1] + height / 2)
    words(axes, middle, text, size=9)


def draw_table(text: Texts, offset: int = 3, tokens: int = 2) -> Figure:
    """Draw a table of cosines, and the rows that two new tokens take."""
    figure = Figure(figsize=(WIDTH, 2.6))
    axes = figure.subplots()
    blank(axes, (-3.4, 13.4), (-6.6, 2.6))
    words(axes, (4.2, 2.2), text["table"], size=9)
    for pair in range(4):
        words(axes, (2.1 * pair + 1, 1.3), f"i = {pair}", size=9, color=MUTED)
    for position in range(6):
        y = -1.25 * position
        is_taken = offset <= position < offset + tokens
        words(axes, (-0.3, y + 0.5), str(position), size=9, ha="right", color=MUTED)
        for pair in range(4):
            cosine = math.cos(position * 1e4 ** (-2 * pair / 8))
            shown = f"{cosine:.2f}".replace("-", "\N{MINUS SIGN}")
            hue = SERIES[1] if is_taken else MUTED
            _cell(axes, (2.1 * pair, y), shown, hue)
        if is_taken:
            name = text["token"].format(number=position - offset)
            words(axes, (9.0, y + 0.5), name, size=9, ha="left", color=SERIES[1])
    words(axes, (-0.3, 1.3), text["position"], size=9, ha="right", color=MUTED)
    return figure


def draw_rounds(text: Texts) -> Figure:
    """Draw two cores that wait at the end of each round, and such that wait once."""
    figure = Figure(figsize=(WIDTH, 3.0))
    axes = figure.subplots()
    blank(axes, (-1.5, 5.4), (-6.6, 1.9))
    start = 0.0
    for own in ROUNDS:
        start = _round(axes, 0.0, start, [own[:1], own[1:]])
    _round(axes, -4.1, 0.0, [*zip(*ROUNDS, strict=True)])
    for y, name in ((0.0, "each"), (-4.1, "all")):
        words(axes, (-1.4, y + 1.5), text[name], size=9, ha="left")
        for core in range(2):
            core_name = text["core"].format(number=core + 1)
            words(axes, (-0.1, y - 1.2 * core + 0.5), core_name, size=9, ha="right")
    words(axes, (-1.4, -6.3), text["time"], size=9, ha="left", color=MUTED)
    return figure


def _round(
    axes: Axes, y: float, start: float, work: Sequence[Sequence[float]]
) -> float:
    """Draw the pieces of two cores, and a line where both are done. Return where."""
    end = start
    for core, pieces in enumerate(work):
        at = start + START * core
        for piece in pieces:
            _cell(axes, (at, y - 1.2 * core), "", SERIES[core], size=(piece, 1.0))
            at += piece
        end = max(end, at)
    axes.plot([end, end], [y - 1.4, y + 1.1], color=INK, lw=1.4)
    return end
