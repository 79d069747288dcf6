"""The trips of a row through memory."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tiny_llm_course.book.diagrams import blank, box, words
from tiny_llm_course.book.drawing import MUTED, SERIES

STEPS = ("add", "square", "sum", "scale", "gain")


def draw_passes() -> Figure:
    """Draw five operations that go to memory and back, and one that does so once."""
    figure = Figure(figsize=(5, 2.5))
    axes = figure.subplots()
    blank(axes, (-1.2, 8.6), (-0.6, 3.4))
    for y, text in ((2.6, "processor"), (0.2, "memory")):
        axes.axhline(y - 0.55 if y > 1 else y + 0.55, color=MUTED, lw=0.6, ls=":")
        words(axes, (-1.15, y), text, color=MUTED, size=8, ha="left")
    for place, name in enumerate(STEPS):
        x = 0.9 + 1.15 * place
        _trip(axes, x, name, SERIES[0], writes=name != "sum")
    _trip(axes, 7.6, "add_rms_norm", SERIES[1], writes=True)
    words(axes, (3.2, -0.4), "five operations", color=SERIES[0], size=8)
    words(axes, (7.6, -0.4), "one kernel", color=SERIES[1], size=8)
    return figure


def _trip(axes: Axes, x: float, name: str, colour: str, *, writes: bool) -> None:
    """Draw an operation with an arrow from memory, and one back to it."""
    box(axes, (x, 2.6), name, colour)
    style = {"arrowstyle": "-|>", "color": colour, "lw": 1.2}
    axes.annotate("", (x - 0.18, 2.2), (x - 0.18, 0.3), arrowprops=style)
    if writes:
        axes.annotate("", (x + 0.18, 0.3), (x + 0.18, 2.2), arrowprops=style)
