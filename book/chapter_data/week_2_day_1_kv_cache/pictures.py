"""A buffer with room to spare, a mask that is wider than high, and two curves."""

from matplotlib.figure import Figure

from tiny_llm_course.book.diagrams import bare, blank, cell, words
from tiny_llm_course.book.drawing import GRID, INK, MUTED, SERIES, Texts

from .counting import moved_by_doubling, moved_by_one, moved_in_steps

NUM_OLD, NUM_NEW, CAPACITY = 5, 3, 12


def draw_buffer(text: Texts) -> Figure:
    """Draw the places of a buffer: taken, just written, and spare."""
    figure = Figure(figsize=(5, 1.3))
    axes = figure.add_subplot()
    blank(axes, (-0.2, CAPACITY + 0.2), (-1.1, 2.1), aspect="equal")
    for place in range(CAPACITY):
        fill: str | tuple[str, float] = (SERIES[0], 0.55)
        if place >= NUM_OLD:
            fill = (SERIES[1], 0.55)
        if place >= NUM_OLD + NUM_NEW:
            fill = (GRID, 0.3)
        cell(axes, (place, 0), fill, ec=INK, lw=0.8)
        words(axes, (place + 0.5, 0.5), str(place))
    words(axes, (NUM_OLD / 2, 1.5), text["old"])
    words(axes, (NUM_OLD + NUM_NEW / 2, 1.5), text["new"])
    spare = CAPACITY - NUM_OLD - NUM_NEW
    words(axes, (CAPACITY - spare / 2, 1.5), text["spare"], color=MUTED)
    words(axes, (NUM_OLD, -0.6), text["before"])
    words(axes, (NUM_OLD + NUM_NEW, -0.6), f"  {text['after']}", ha="left")
    return figure


def draw_mask(text: Texts) -> Figure:
    """Draw who sees whom when new tokens come to a cache."""
    num_all = NUM_OLD + NUM_NEW
    figure = Figure(figsize=(5, 2.1))
    axes = figure.add_subplot()
    blank(axes, (-3.4, num_all + 0.2), (-NUM_NEW - 0.2, 1.6), aspect="equal")
    bare(axes)
    for row in range(NUM_NEW):
        query = text["query"].format(position=NUM_OLD + row)
        words(axes, (-0.2, -row - 0.5), query, ha="right")
        for column in range(num_all):
            sees = column <= NUM_OLD + row
            fill = (SERIES[0] if column < NUM_OLD else SERIES[1], 0.55)
            cell(axes, (column, -row - 1), fill if sees else (GRID, 0.3), ec=INK)
            words(axes, (column + 0.5, -row - 0.5), "0" if sees else "-inf", size=8)
    words(axes, (NUM_OLD / 2, 0.4), text["cached"].format(first=0, last=NUM_OLD - 1))
    words(
        axes,
        (NUM_OLD + NUM_NEW / 2, 1.1),
        text["new"].format(first=NUM_OLD, last=num_all - 1),
    )
    return figure


def draw_growth(text: Texts) -> Figure:
    """Draw how many tokens are moved while a text grows."""
    lengths = range(1, 2049)
    figure = Figure(figsize=(5, 2.8))
    axes = figure.add_subplot()
    ways = (
        (moved_by_one, SERIES[1], "-", text["one"]),
        (moved_in_steps, SERIES[2], "--", text["steps"]),
        (moved_by_doubling, SERIES[0], ":", text["doubling"]),
    )
    for count, colour, line, label in ways:
        moved = [max(count(one), 1) for one in lengths]
        axes.plot(lengths, moved, color=colour, ls=line, label=label)
    axes.set_yscale("log", base=10)
    axes.set(xlabel=text["x"], ylabel=text["y"])
    axes.legend()
    return figure
