"""A tile in several pages, and the units that rows are cut into."""

from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from tiny_llm_course.book.diagrams import blank, cell, words
from tiny_llm_course.book.drawing import GRID, INK, MUTED, SERIES, Texts

from .by_hand import NUM_PAGES, PAGE_SIZE, TABLE

NUM_KEYS = 10
"""Of the text in the drawing, whose last page is not full."""

PIECES = (4, 1, 2)
"""Of three rows."""


def draw_tile(text: Texts) -> Figure:
    """Draw the pages of a text, and the tile of scores that they fill."""
    figure = Figure(figsize=(5, 1.5))
    axes = figure.subplots()
    blank(axes, (-0.2, NUM_PAGES * 5 - 0.8), (-5.4, 2.4), aspect="equal")
    for page in range(NUM_PAGES):
        words(axes, (5 * page + 2, 1.7), text["page"].format(number=page), size=9)
        for slot in range(PAGE_SIZE):
            cell(axes, (5 * page + slot, 0), _look(page, slot), ec=INK, lw=0.6)
    start = 9.5
    for key in range(NUM_KEYS):
        index = key // PAGE_SIZE
        cell(axes, (start + key, -4), (SERIES[index], 0.55), ec=INK, lw=0.6)
    for index, page in enumerate(TABLE):
        count = min(PAGE_SIZE, NUM_KEYS - PAGE_SIZE * index)
        middle = start + PAGE_SIZE * index + count / 2
        axes.plot((5 * page + 2, middle), (-0.2, -2.8), color=SERIES[index], lw=1.2)
    words(axes, (start - 0.4, -3.5), text["tile"], size=9, ha="right")
    words(axes, (start + 5, -4.9), text["count"].format(count=NUM_KEYS), color=MUTED)
    return figure


def _look(page: int, slot: int) -> tuple[str, float]:
    """Return the colour of a slot, by the place of its page in the text."""
    if page not in TABLE:
        return GRID, 0.3
    index = TABLE.index(page)
    is_key = PAGE_SIZE * index + slot < NUM_KEYS
    return (SERIES[index], 0.55) if is_key else (GRID, 0.3)


def draw_units(text: Texts) -> Figure:
    """Draw rows of different length, cut into pieces of about the same work."""
    figure = Figure(figsize=(4.4, 1.9))
    axes = figure.subplots()
    blank(axes, (-2.2, 8.4), (-1.1, 3.4))
    for row, count in enumerate(PIECES):
        y = 2.4 - 1.1 * row
        words(axes, (-0.2, y + 0.4), text["row"].format(number=row), size=9, ha="right")
        for piece in range(count):
            core = (piece + row) % 2
            fill = (SERIES[core], 0.35)
            axes.add_patch(
                Rectangle((2 * piece, y), 1.94, 0.8, fc=fill, ec=INK, lw=0.6)
            )
            name = text["core"].format(number=core)
            words(axes, (2 * piece + 0.97, y + 0.4), name, size=9)
    words(axes, (4, -0.6), text["merged"], size=9, color=MUTED)
    return figure
