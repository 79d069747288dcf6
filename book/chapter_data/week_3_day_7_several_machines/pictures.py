"""Which process has what of a layer, and where they add up."""

from matplotlib.figure import Figure

from tiny_llm_course.book.diagrams import arrow, blank, box, words
from tiny_llm_course.book.drawing import INK, MUTED, SERIES, Texts

COLUMNS = (1.0, 3.4, 6.9, 9.3)
"""Where the parts stand: two of the attention, two of the MLP."""

SUMS = (5.15, 11.05)
PARTS = (("qkv", "o"), ("gate_up", "down"))


def draw_parts(text: Texts) -> Figure:
    """Draw a layer from left to right, a row for each process."""
    figure = Figure(figsize=(5, 2.2))
    axes = figure.subplots()
    blank(axes, (-1.1, 12.2), (-2.6, 2.9))
    for rank, y in enumerate((1.2, -1.2)):
        name = text["process"].format(number=rank)
        words(axes, (-0.75, y), name, size=9, rotation=90, color=SERIES[rank])
        for index, name in enumerate(name for pair in PARTS for name in pair):
            at = (COLUMNS[index], y)
            box(axes, at, text[name], SERIES[rank], size=(2.0, 1.5))
            if index % 2 == 0:
                arrow(axes, (at[0] + 1.02, y), (COLUMNS[index + 1] - 1.02, y))
            else:
                arrow(axes, (at[0] + 1.02, y), (SUMS[index // 2] - 0.3, y * 0.3))
    for index, x in enumerate(SUMS):
        words(axes, (x, 0), "+", size=15, color=INK)
        words(axes, (x, -2.3), text["sum"], size=9, color=MUTED)
        if index == 0:
            for y in (1.2, -1.2):
                arrow(axes, (x + 0.3, y * 0.3), (COLUMNS[2] - 1.02, y))
    for place, name in ((2.2, "attention"), (8.1, "mlp")):
        words(axes, (place, 2.5), text[name], size=9, color=MUTED)
    return figure
