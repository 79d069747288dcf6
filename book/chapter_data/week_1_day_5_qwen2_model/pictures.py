"""The model with its shapes."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from tiny_llm_course.book.diagrams import arrow, blank, box, path, sign, words
from tiny_llm_course.book.drawing import MUTED, SERIES, Texts


def draw_model(text: Texts) -> Figure:
    """Draw the stream from the ids to the logits, and what reads and feeds it."""
    figure = Figure(figsize=(4.2, 5.4))
    axes = figure.subplots()
    blank(axes, (0, 10), (0, 12.5))
    edge = FancyBboxPatch((0.3, 3.9), 9.6, 5.8, boxstyle="round,pad=0", ec=MUTED)
    edge.set(facecolor="none", linestyle=(0, (4, 3)))
    axes.add_patch(edge)
    look = {"ha": "right", "va": "baseline", "size": 8, "color": MUTED}
    words(axes, (9.7, 4.05), text["block"], **look)
    arrow(axes, (2, 12.0), (2, 0.6), SERIES[0], lw=2.6)
    _part(axes, 9.0, text["norm_1"], text["attention"])
    _part(axes, 6.5, text["norm_2"], text["mlp"])
    box(axes, (2, 11.2), text["embedding"], SERIES[2])
    box(axes, (2, 2.7), text["last_norm"], SERIES[3])
    box(axes, (2, 1.5), text["head"], SERIES[2])
    words(axes, (4.0, 1.5), text["tied"], ha="left", size=8)
    words(axes, (2, 12.25), f"{text['ids']}  B x L", size=9)
    for y in (10.1, 3.4):
        words(axes, (2.25, y), f"{text['stream']}  B x L x E", size=9, ha="left")
    words(axes, (2, 0.3), f"{text['logits']}  B x L x V", size=9)
    return figure


def _part(axes: Axes, y: float, norm: str, part: str) -> None:
    """Draw a side road: out of the stream, through norm and part, back into it."""
    arrow(axes, (2, y), (7.05, y))
    box(axes, (4.6, y), norm, SERIES[3])
    path(axes, [(8, y), (8, y - 1.6), (2.35, y - 1.6)])
    box(axes, (8, y), part, SERIES[1])
    sign(axes, (2, y - 1.6), "+", SERIES[0])
