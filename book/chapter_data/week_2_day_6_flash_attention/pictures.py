"""The tiles of a prompt, and the pieces of a cache."""

from matplotlib.figure import Figure

from tiny_llm_course.book.diagrams import blank, cell, words
from tiny_llm_course.book.drawing import INK, MUTED, PAPER, SERIES, Texts

from .counting import KEYS_OF_TILE, QUERIES_OF_BLOCK, kind_of

LOOKS = {"whole": (SERIES[0], 0.55), "cut": (SERIES[1], 0.55), "skipped": (MUTED, 0.12)}
HUES = {"whole": SERIES[0], "cut": SERIES[1], "skipped": MUTED}


def draw_tiles(text: Texts) -> Figure:
    """Draw which tiles the blocks of a prompt of 256 tokens look at."""
    figure = Figure(figsize=(3.8, 3.1))
    axes = figure.subplots()
    blank(axes, (-4.2, 8.2), (-1.5, 9.9))
    for block in range(8):
        for tile in range(4):
            for half in range(2):
                corner = (2 * tile + half, 7 - block)
                cell(axes, corner, LOOKS[kind_of(block, tile)], ec=PAPER, lw=0.4)
    words(axes, (4, 9.5), text["keys"], size=9)
    for tile in range(4):
        axes.plot((2 * tile, 2 * tile), (0, 8), color=INK, lw=0.8)
        first = KEYS_OF_TILE * tile
        name = text["range"].format(first=first, last=first + 63)
        words(axes, (2 * tile + 1, 8.5), name, size=9)
    for block in (0, 7):
        first = QUERIES_OF_BLOCK * block
        own = text["range"].format(first=first, last=first + 31)
        name = text["queries"].format(range=own)
        words(axes, (-0.2, 7.5 - block), name, size=9, ha="right")
    for place, (kind, hue) in enumerate(HUES.items()):
        words(axes, (0.6 + 3.2 * place, -0.9), text[kind], color=hue, size=9)
    return figure


def draw_pieces(text: Texts) -> Figure:
    """Draw a cache that is cut into pieces, and what each of them hands over."""
    figure = Figure(figsize=(3.8, 1.9))
    axes = figure.subplots()
    blank(axes, (-0.2, 8.2), (-2.9, 2.5))
    for piece in range(4):
        left, colour = 2 * piece, SERIES[piece % 2]
        for place in range(2):
            cell(axes, (left + place, 0.4), (colour, 0.35), ec=PAPER, lw=0.6)
        words(axes, (left + 1, 0.9), text["piece"].format(number=piece), size=9)
        core = text["core"].format(number=piece % 2)
        words(axes, (left + 1, 1.9), core, color=colour, size=9)
        words(axes, (left + 1, -0.35), "m, t, u", size=9)
        axes.plot((left + 1, 4), (-0.8, -1.7), color=MUTED, lw=1)
    words(axes, (4, -2.3), text["merged"], size=9)
    return figure
