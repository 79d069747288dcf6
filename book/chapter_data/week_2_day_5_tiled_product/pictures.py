"""How a panel lies in memory, and what a tile of the result needs."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from tiny_llm_course.book.diagrams import arrow, blank, cell, words
from tiny_llm_course.book.drawing import INK, MUTED, PAPER, SERIES


def draw_panel() -> Figure:
    """Draw four rows of eight bytes, and the same bytes as a panel of four rows."""
    figure = Figure(figsize=(5, 2.3))
    axes = figure.subplots()
    blank(axes, (-1.9, 18.4), (-3.5, 6.2))
    for row in range(4):
        words(axes, (-0.3, 3.9 - row), f"row {row}", size=7.5, ha="right")
        for place in range(8):
            look = (SERIES[row], 0.4 if place < 4 else 0.15)
            cell(axes, (place, 3.5 - row), look, side=0.9, ec=PAPER, lw=0.6)
            words(axes, (place + 0.45, 3.95 - row), str(place), size=6.5)
    words(axes, (4, 5.3), "the matrix: a row after the other", size=8)
    arrow(axes, (8.6, 2.5), (10.2, 2.5))
    for line in range(2):
        for row in range(4):
            for place in range(4):
                look = (SERIES[row], 0.4 if line == 0 else 0.15)
                corner = (place + row * 4.4 - 0.4, -1.5 - 1.3 * line)
                cell(axes, corner, look, side=0.9, ec=PAPER, lw=0.6)
                number = str(place + 4 * line)
                middle = (corner[0] + 0.45, corner[1] + 0.45)
                words(axes, middle, number, size=6.5)
    words(axes, (14.2, 2.9), "the panel: four inputs", size=8)
    words(axes, (14.2, 2.0), "of every row, then the next four", size=8)
    words(axes, (8.4, -3.2), "each line is one register", size=7.5, color=MUTED)
    return figure


def draw_tile() -> Figure:
    """Draw activations, a panel, and the tile of the result between them."""
    figure = Figure(figsize=(5, 2.9))
    axes = figure.subplots()
    blank(axes, (-3.6, 12.6), (-5.3, 6.6))
    _field(axes, (0, 0), (6.0, 3.0), SERIES[0], "x: 12 tokens")
    _field(axes, (7.2, 3.7), (2.4, 2.2), SERIES[1], "")
    words(axes, (11.2, 4.8), "a panel:\n16 outputs", size=8)
    _field(axes, (7.2, 0), (2.4, 3.0), SERIES[2], "")
    words(axes, (8.4, 1.5), "12 x 16\nsums", size=8)
    words(axes, (11.2, 1.5), "a tile of y,\nin registers", size=8)
    _field(axes, (4.8, 0), (0.5, 3.0), INK, "")
    _field(axes, (7.2, 4.9), (2.4, 0.35), INK, "")
    words(axes, (4.0, -0.6), "four inputs of each token", size=7.5, color=MUTED)
    words(axes, (5.6, 5.1), "the same four", size=7.5, color=MUTED)
    steps = (
        "1. load one register of the panel",
        "2. for each token: repeat its four activations, multiply, add",
        "3. go on with the next four inputs; after a group, scale",
    )
    for number, step in enumerate(steps):
        words(axes, (-3.4, -2.0 - 1.2 * number), step, size=8, ha="left")
    return figure


def _field(
    axes: Axes,
    corner: tuple[float, float],
    size: tuple[float, float],
    colour: str,
    text: str,
) -> None:
    """Draw a part of a matrix."""
    look = {"facecolor": (colour, 0.25), "edgecolor": colour, "lw": 1}
    axes.add_patch(Rectangle(corner, *size, **look))
    middle = (corner[0] + size[0] / 2, corner[1] + size[1] / 2)
    words(axes, middle, text, size=8)
