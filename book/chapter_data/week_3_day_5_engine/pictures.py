"""The way of a step through the parts of the engine."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tiny_llm_course.book.diagrams import Point, arrow, blank, box, words
from tiny_llm_course.book.drawing import MUTED, SERIES, Texts


def draw_step(text: Texts) -> Figure:
    """Draw what a step hands from part to part."""
    figure = Figure(figsize=(4.4, 4.1))
    axes = figure.subplots()
    blank(axes, (0.2, 10.2), (0.4, 9.0))
    left, right = 2.5, 7.7
    box(axes, (left, 8.2), text["request"], MUTED)
    box(axes, (left, 6.0), text["scheduler"], SERIES[0])
    box(axes, (left, 3.8), text["run"], SERIES[0])
    box(axes, (left, 1.4), text["sampler"], SERIES[2])
    box(axes, (right, 1.4), text["postprocess"], SERIES[0])
    box(axes, (right, 3.8), text["stream"], SERIES[2])
    box(axes, (right, 6.0), text["output"], MUTED)
    _way(axes, (left, 7.6), (left, 6.6), text["add"])
    _way(axes, (left, 5.4), (left, 4.4), text["pieces"])
    _way(axes, (left, 3.2), (left, 2.0), text["logits"])
    arrow(axes, (4.2, 1.4), (5.9, 1.4))
    words(axes, (5.05, 1.75), text["token"], va="baseline", size=8)
    _way(axes, (right, 2.0), (right, 3.2), text["ended"])
    _way(axes, (right, 4.4), (right, 5.4), text["text"])
    arrow(axes, (6.2, 4.2), (4.0, 5.6))
    words(axes, (6.0, 5.4), text["stop"], size=8)
    return figure


def _way(axes: Axes, start: Point, end: Point, text: str) -> None:
    """Draw an arrow, and beside it what goes along."""
    arrow(axes, start, end)
    words(axes, (start[0] + 0.2, (start[1] + end[1]) / 2), text, ha="left", size=8)
