"""The tiles of a prompt, and the pieces of a cache."""

from matplotlib.figure import Figure

from tiny_llm_course.book.diagrams import blank, cell, words
from tiny_llm_course.book.drawing import INK, MUTED, PAPER, SERIES

from .counting import kind_of

LOOKS = {"whole": (SERIES[0], 0.55), "cut": (SERIES[1], 0.55), "skipped": (MUTED, 0.12)}


def draw_tiles() -> Figure:
    """Draw which tiles the blocks of a prompt of 256 tokens look at."""
    figure = Figure(figsize=(5, 2.9))
    axes = figure.subplots()
    blank(axes, (-2.6, 8.6), (-1.4, 8.9))
    for block in range(8):
        for tile in range(4):
            for half in range(2):
                corner = (2 * tile + half, 7 - block)
                cell(axes, corner, LOOKS[kind_of(block, tile)], ec=PAPER, lw=0.4)
    for tile in range(4):
        axes.plot((2 * tile, 2 * tile), (0, 8), color=INK, lw=0.8)
        words(axes, (2 * tile + 1, 8.4), f"{64 * tile} to {64 * tile + 63}", size=7)
    words(axes, (-0.2, 7.5), "queries 0 to 31", size=7, ha="right")
    words(axes, (-0.2, 0.5), "224 to 255", size=7, ha="right")
    words(axes, (-0.2, 8.4), "keys", size=7, ha="right")
    for place, (kind, colour) in enumerate(
        (("seen whole", SERIES[0]), ("masked", SERIES[1]), ("skipped", MUTED))
    ):
        words(axes, (1.2 + 2.6 * place, -0.7), kind, color=colour, size=8)
    return figure


def draw_pieces() -> Figure:
    """Draw a cache that is cut into pieces, and what each of them hands over."""
    figure = Figure(figsize=(5, 1.9))
    axes = figure.subplots()
    blank(axes, (-0.3, 8.3), (-2.6, 2.2))
    for piece in range(4):
        left, colour = 2 * piece, SERIES[piece % 2]
        for place in range(2):
            cell(axes, (left + place, 0.4), (colour, 0.35), ec=PAPER, lw=0.6)
        words(axes, (left + 1, 0.9), "keys, values", size=7)
        core = "one core" if piece % 2 == 0 else "the other"
        words(axes, (left + 1, 1.75), core, color=colour, size=7.5)
        words(axes, (left + 1, -0.35), "max, sum, values", size=7)
        axes.plot((left + 1, 4), (-0.75, -1.55), color=MUTED, lw=1)
    words(axes, (4, -2.0), "merged: one row of the result", size=8)
    return figure
