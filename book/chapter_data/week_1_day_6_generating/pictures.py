"""What happens between a text and its next token."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tiny_llm_course.book.diagrams import Point, arrow, blank, box, words
from tiny_llm_course.book.drawing import MUTED, SERIES, Texts


def draw_loop(text: Texts) -> Figure:
    """Draw what happens between a text and its next token."""
    figure = Figure(figsize=(4.4, 3.9))
    axes = figure.subplots()
    blank(axes, (0.4, 10.2), (0.6, 8.2))
    left, right = 2.4, 7.6
    box(axes, (left, 7.5), text["prompt"], MUTED)
    box(axes, (left, 5.5), text["ids"], SERIES[0])
    box(axes, (left, 3.4), text["logits"], SERIES[0])
    box(axes, (left, 1.3), text["last"], SERIES[0])
    box(axes, (right, 1.3), text["probabilities"], SERIES[0])
    box(axes, (right, 3.4), text["token"], SERIES[2])
    box(axes, (right, 5.5), text["end"], SERIES[1])
    box(axes, (right, 7.5), text["done"], MUTED)
    _step(axes, (left, 6.95), (left, 6.05), text["encode"])
    _step(axes, (left, 4.95), (left, 3.95), text["model"])
    _step(axes, (left, 2.85), (left, 1.85), text["take"])
    _step(axes, (4.15, 1.3), (5.85, 1.3), "- logsumexp")
    _step(axes, (right, 1.85), (right, 2.85), text["choose"])
    arrow(axes, (right, 3.95), (right, 4.95))
    _step(axes, (right, 6.05), (right, 6.95), text["yes"])
    _step(axes, (5.85, 5.5), (4.15, 5.5), text["append"])
    words(axes, (5, 5.1), text["print"], size=8)
    return figure


def _step(axes: Axes, start: Point, end: Point, text: str) -> None:
    """Draw an arrow, and beside it or above it what is done on the way."""
    arrow(axes, start, end)
    x, y = (start[0] + end[0]) / 2, (start[1] + end[1]) / 2
    if start[1] == end[1]:
        words(axes, (x, y + 0.35), text, va="baseline", size=8)
    else:
        words(axes, (x + 0.2, y), text, ha="left", size=8)
