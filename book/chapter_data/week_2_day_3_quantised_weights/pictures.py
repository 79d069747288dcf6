"""A grid, a word, groups with an outlier, and what bits cost."""

from matplotlib.figure import Figure

from tiny_llm_course.book.chapter_data import values_of
from tiny_llm_course.book.diagrams import blank, cell, words
from tiny_llm_course.book.drawing import INK, MUTED, PAPER, SERIES, Texts

from .by_hand import ROW, stored
from .counting import GROUP_SIZES, WIDTHS

CHAPTER = "week-2-day-3-quantised-weights"


def draw_grid(text: Texts) -> Figure:
    """Draw eight weights above the sixteen steps that they may become."""
    row = stored(ROW)
    figure = Figure(figsize=(5, 1.75))
    axes = figure.subplots()
    blank(axes, (-0.93, 0.83), (-1.25, 1.25))
    for q in range(16):
        at = row["bias"] + q * row["scale"]
        colour = SERIES[0] if q in {0, 8} else MUTED
        axes.plot((at, at), (-0.12, 0.12), color=colour, lw=2 if q in {0, 8} else 1)
        words(axes, (at, -0.34), str(q), color=colour, size=8)
    axes.plot((row["bias"], row["bias"] + 15 * row["scale"]), (0, 0), color=MUTED, lw=1)
    for before, after in zip(row["w"], row["restored"], strict=True):
        axes.plot((before, after), (0.62, 0.14), color=SERIES[1], lw=1)
        axes.plot(before, 0.62, "o", color=SERIES[1], ms=4)
        words(axes, (before, 0.9), f"{before:g}", size=8)
    words(axes, (-0.8, -0.8), text["bias"], color=SERIES[0], size=8, ha="left")
    words(axes, (0, -0.8), text["zero"], color=SERIES[0], size=8)
    look = {"color": MUTED, "size": 8, "ha": "right"}
    words(axes, (0.7, -0.8), text["step"], **look)
    return figure


def draw_word(text: Texts) -> Figure:
    """Draw the word that holds the eight integers, the highest bits on the left."""
    row = stored(ROW)
    figure = Figure(figsize=(5, 1.5))
    axes = figure.subplots()
    blank(axes, (-0.7, 8.1), (-1.5, 2.2))
    for place, q in enumerate(row["q"]):
        left = 7 - place
        cell(axes, (left, 0), (SERIES[place % 2], 0.25), ec=INK, lw=0.8)
        words(axes, (left + 0.5, 0.62), str(q), size=10)
        words(axes, (left + 0.5, 0.25), f"{q:04b}", size=8, color=MUTED)
        words(axes, (left + 0.5, 1.35), text["weight"].format(number=place), size=8)
        words(axes, (left + 0.5, -0.35), row["hex"][left], size=10, color=SERIES[0])
        words(axes, (left + 1, -0.85), str(4 * place), size=8, color=MUTED, ha="right")
    words(axes, (-0.1, -0.35), "0x", size=10, color=SERIES[0], ha="right")
    words(axes, (4, -1.3), text["shifted"], size=8, color=MUTED)
    return figure


def draw_groups(text: Texts) -> Figure:
    """Draw where scales and biases belong, in two rows of a matrix."""
    figure = Figure(figsize=(5, 1.6))
    axes = figure.subplots()
    blank(axes, (-2.2, 17.2), (-1.6, 3.4))
    for row in range(2):
        y = 1.3 * (1 - row)
        output = text["output"].format(number=row)
        words(axes, (-0.3, y + 0.4), output, size=8, ha="right")
        for group in range(4):
            colour = SERIES[group]
            for place in range(4):
                corner = (4.2 * group + place, y)
                cell(axes, corner, (colour, 0.35), side=0.8, ec=PAPER, lw=0.6)
            middle = 4.2 * group + 1.9
            if row == 0:
                name = text["group"].format(number=group)
                words(axes, (middle, 2.75), name, color=colour, size=8)
    words(axes, (8.2, -0.7), text["each"], size=8)
    return figure


def draw_errors(text: Texts) -> Figure:
    """Draw the divergence of the model against the bits that a weight takes."""
    figure = Figure(figsize=(5, 3.0))
    axes = figure.subplots()
    measured = values_of(CHAPTER, "numbers")["cost"]
    for colour, bits in zip(SERIES, WIDTHS, strict=False):
        found = [measured[f"b{bits}"][f"g{size}"] for size in GROUP_SIZES]
        across = [one["bits"] for one in found]
        up = [one["divergence"] for one in found]
        axes.plot(across, up, "o-", color=colour, ms=4)
        look = {"textcoords": "offset points", "color": colour}
        label = text["curve"].format(bits=bits)
        axes.annotate(label, (across[1], up[1]), (9, 5), **look)
    axes.set(xlabel=text["x"], yscale="log")
    axes.set_ylabel(text["y"])
    axes.set_xlim(2, 9.5)
    return figure
