"""Where a norm stands, what it looks at, and what SwiGLU replaced."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tiny_llm_course.book.diagrams import (
    arrow,
    bare,
    blank,
    box,
    cell,
    path,
    sign,
    words,
)
from tiny_llm_course.book.drawing import INK, MUTED, PAPER, SERIES, Texts

LEARNED = 1.8
"""The frame of what has large weights, in points."""


def draw_who_shares(text: Texts) -> Figure:
    """Draw which entries have their statistics in common with one entry."""
    figure = Figure(figsize=(5, 1.9))
    panels = figure.subplots(1, 4)
    one, all_six = range(1, 2), range(6)
    kinds = {
        "BatchNorm": (all_six, one),
        "GroupNorm": (range(3), range(3)),
        "LayerNorm,\nRMSNorm": (one, all_six),
        "pRMSNorm": (one, range(2)),
    }
    for axes, (title, (tokens, channels)) in zip(panels, kinds.items(), strict=True):
        for token in range(6):
            for channel in range(6):
                shares = token in tokens and channel in channels
                colour = SERIES[0] if shares else PAPER
                top = token + (0.6 if token >= 3 else 0)
                cell(axes, (channel, top), colour, ec=MUTED, lw=0.7)
        axes.plot(1.5, 1.5, "o", ms=4.5, mec=INK, mfc=SERIES[1])
        axes.set(xlim=(-0.2, 6.2), ylim=(6.8, -0.2), aspect="equal", xticks=[])
        axes.set_title(title, fontsize=8.5)
        axes.set_yticks([])
        axes.set_xlabel(text["channels"], fontsize=8, color=MUTED)
        bare(axes)
    panels[0].set_ylabel(text["tokens"], fontsize=8, color=MUTED)
    return figure


def draw_placement(text: Texts) -> Figure:
    """Draw one part of a layer with the norm behind it, and with the norm before it."""
    figure = Figure(figsize=(5, 3.0))
    left, right = figure.subplots(1, 2)
    left.set_title(text["post"])
    right.set_title(text["pre"])
    for axes in (left, right):
        blank(axes, (0, 10), (-0.8, 12.8))
        arrow(axes, (3, 0.2), (3, 11.6), SERIES[1], lw=1.6)
        words(axes, (3, -0.1), "x", va="top")
    wide, narrow = (5.4, 1.5), (3.6, 1.5)
    _branch(left, low=1.4, high=6.6)
    box(left, (7.2, 4.6), text["part"], size=wide)
    box(left, (3, 8.9), text["norm"], size=narrow)
    _branch(right, low=1.4, high=9)
    box(right, (7.2, 3.2), text["norm"], size=narrow)
    box(right, (7.2, 6.0), text["part"], size=wide)
    words(left, (3.5, 10.6), text["normalised"], ha="left", color=MUTED)
    words(right, (3.5, 10.6), text["added"], ha="left", color=MUTED)
    return figure


def _branch(axes: Axes, low: float, high: float) -> None:
    """Draw the way through a part, from the stream at `low` back to it at `high`."""
    path(axes, [(3, low), (7.2, low), (7.2, high), (3.45, high)])
    sign(axes, (3, high), "+")


def draw_two_ways(text: Texts) -> Figure:
    """Draw the feed-forward layer of 2017 beside the gated one."""
    figure = Figure(figsize=(5, 3.5))
    left, right = figure.subplots(1, 2)
    left.set_title(text["old"])
    right.set_title(text["gated"])
    for axes in (left, right):
        blank(axes, (0, 10), (-0.8, 14.8))
        words(axes, (5, -0.1), text["input"], va="top")
        words(axes, (5, 13.6), text["output"], va="bottom")
    _draw_mlp_of_2017(left, text)
    _draw_swiglu(right, text)
    return figure


def _draw_mlp_of_2017(axes: Axes, text: Texts) -> None:
    """Draw two matrices with ReLU between them."""
    arrow(axes, (5, 0.2), (5, 13.4))
    box(axes, (5, 3), "w_1, b_1", SERIES[0], size=(4.4, 1.5), lw=LEARNED)
    box(axes, (5, 6.2), "ReLU", size=(4.4, 1.5))
    box(axes, (5, 11), "w_2, b_2", SERIES[0], size=(4.4, 1.5), lw=LEARNED)
    words(axes, (5.4, 8.6), text["four_times"], ha="left", color=MUTED)


def _draw_swiglu(axes: Axes, text: Texts) -> None:
    """Draw three matrices: one of two branches is the gate of the other."""
    path(axes, [(5, 0.2), (5, 1.3), (2.6, 1.3), (2.6, 8.6), (4.5, 8.6)])
    path(axes, [(5, 1.3), (7.8, 1.3), (7.8, 8.6), (5.5, 8.6)])
    arrow(axes, (5, 8.6), (5, 13.4))
    box(axes, (2.6, 3), "w_gate", SERIES[0], size=(3.8, 1.5), lw=LEARNED)
    box(axes, (7.8, 3), "w_up", SERIES[0], size=(3.8, 1.5), lw=LEARNED)
    box(axes, (2.6, 6.2), "SiLU", size=(3.8, 1.5))
    box(axes, (5, 11), "w_down", SERIES[0], size=(4.4, 1.5), lw=LEARNED)
    sign(axes, (5, 8.6), r"$\times$")
    words(axes, (7.4, 6.2), text["width"], ha="right", color=MUTED)
