"""Rows of different length in one array."""

from matplotlib.figure import Figure

from tiny_llm_course.book.diagrams import blank, cell, words
from tiny_llm_course.book.drawing import GRID, INK, MUTED, SERIES, Texts

ROWS = ("abcdef", "ghi", "")
"""The tokens in three slots. The last one is idle, and gets a token all the same."""


def draw_rows(text: Texts) -> Figure:
    """Draw three slots side by side, the newest tokens in one column."""
    longest = max(map(len, ROWS))
    figure = Figure(figsize=(3.6, 2))
    axes = figure.add_subplot()
    blank(axes, (-1.3, longest + 0.2), (-3.1, 0.9), aspect="equal")
    words(axes, (longest - 0.5, 0.4), text["newest"])
    for slot, tokens in enumerate(ROWS):
        words(axes, (-0.2, -slot - 0.5), text["slot"].format(slot=slot), ha="right")
        shown = tokens or "?"
        for column in range(longest):
            place = column - (longest - len(shown))
            is_token = place >= 0
            colour = SERIES[slot] if tokens else MUTED
            fill = (colour, 0.55) if is_token else (GRID, 0.3)
            cell(axes, (column, -slot - 1), fill, ec=INK)
            name = shown[place] if is_token else "-inf"
            words(axes, (column + 0.5, -slot - 0.5), name, size=8.5 if is_token else 8)
    return figure
