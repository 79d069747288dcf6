"""Arrows that turn, and boxes that belong together."""

import math

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Arc

from tiny_llm_course.book.diagrams import arrow, bare, blank, cell, words
from tiny_llm_course.book.drawing import INK, MUTED, PAPER, SERIES, Texts

from .by_hand import MEETINGS, OTHER_PAIR, PAIR, turn


def draw_rotation(text: Texts) -> Figure:
    """Draw a pair at four positions, and a query and a key at two places of a text."""
    figure = Figure(figsize=(5, 1.95))
    turning, near, far = figure.subplots(1, 3)
    _empty_plane(turning, 3.9, text["turning"])
    for position in range(4):
        a, b = turn(PAIR, position)
        _vector(turning, [a, b], SERIES[0], faint=position > 0)
        words(turning, (1.17 * a, 1.17 * b), str(position), size=9)
    _draw_meeting(near, *MEETINGS[1], text)
    _draw_meeting(far, *MEETINGS[2], text)
    return figure


def _draw_meeting(axes: Axes, m: int, n: int, text: Texts) -> None:
    """Draw a query at position m and a key at position n, with the angle between."""
    _empty_plane(axes, 3.9, text["meeting"].format(query=m, key=n))
    query, key = turn(PAIR, m), turn(OTHER_PAIR, n)
    start, end = (math.degrees(math.atan2(b, a)) for a, b in (key, query))
    axes.add_patch(Arc((0, 0), 1.8, 1.8, theta1=start, theta2=end, color=INK))
    for (a, b), name, colour in ((query, "q", SERIES[0]), (key, "k", SERIES[1])):
        _vector(axes, [a, b], colour)
        further = 1 + 0.55 / math.hypot(a, b)
        words(axes, (further * a, further * b), name, size=9, color=colour)


def _vector(axes: Axes, end: list[float], colour: str, *, faint: bool = False) -> None:
    """Draw a pair as an arrow from the origin."""
    a, b = end
    arrow(axes, (0, 0), (a, b), colour, lw=1.6, alpha=0.45 if faint else 1)


def _empty_plane(axes: Axes, size: float, title: str) -> None:
    """Prepare a panel for arrows: square, with the axes through the origin."""
    axes.set(xlim=(-size, size), ylim=(-size, size), aspect="equal")
    axes.set_title(title, fontweight="normal")
    axes.set(xticks=[], yticks=[])
    bare(axes)
    axes.axhline(0, color=MUTED, lw=0.5)
    axes.axvline(0, color=MUTED, lw=0.5)


def draw_pairings(text: Texts) -> Figure:
    """Draw which of eight channels turn together, both ways."""
    neighbours = [(2 * pair, 2 * pair + 1) for pair in range(4)]
    halves = [(pair, pair + 4) for pair in range(4)]
    figure = Figure(figsize=(5, 2.6))
    rows = figure.subplots(2, 1, height_ratios=[1.5, 2.3])
    _draw_pairing(rows[0], neighbours, text["neighbours"], top=0.8)
    _draw_pairing(rows[1], halves, text["halves"], top=1.6)
    return figure


def _draw_pairing(
    axes: Axes, pairs: list[tuple[int, int]], title: str, *, top: float
) -> None:
    """Draw the channels of a head with their pairs."""
    blank(axes, (-0.6, 7.6), (-0.7, top), aspect="equal")
    axes.set_title(title, loc="left", fontweight="normal")
    for number, channels in enumerate(pairs):
        _draw_pair(axes, channels, number)


def _draw_pair(axes: Axes, channels: tuple[int, int], number: int) -> None:
    """Draw the two boxes of a pair and the arc that joins them."""
    colour = SERIES[number]
    for channel in channels:
        cell(axes, (channel - 0.42, -0.6), PAPER, side=0.84, ec=colour, lw=1.6)
        words(axes, (channel, -0.2), f"$x_{channel}$", size=9)
    first, second = channels
    width, height = second - first, 1.5 + 0.35 * number
    if width == 1:
        height = 0.9
    middle = ((first + second) / 2, 0.24)
    axes.add_patch(Arc(middle, width, height, theta2=180, color=colour, lw=1.6))
