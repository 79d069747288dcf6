"""Static figures: matplotlib's SVG, in the colours of the page around it.

A figure is drawn in the stand-in colours below. In the page they become variables of
the style sheet, so that one drawing serves light and dark. Its words come from the
chapter, so that one drawing serves all languages.
"""

import logging
import re
from collections.abc import Callable, Generator
from contextlib import contextmanager
from io import StringIO
from typing import Any

import matplotlib as mpl
from cycler import cycler
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.text import Text

from tiny_llm_course.book.texts import Texts

INK = "#010101"
MUTED = "#020202"
GRID = "#030303"
PAPER = "#040404"
SERIES = ("#0a0001", "#0a0002", "#0a0003", "#0a0004", "#0a0005")

_VARIABLES = {
    INK: "--figure-ink",
    MUTED: "--figure-muted",
    GRID: "--figure-grid",
    PAPER: "--figure-paper",
} | {colour: f"--figure-{number}" for number, colour in enumerate(SERIES, 1)}

_STYLE: dict[Any, Any] = {
    "axes.edgecolor": MUTED,
    "axes.facecolor": "none",
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.labelcolor": INK,
    "axes.prop_cycle": cycler(color=SERIES),
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 9,
    "axes.titleweight": "bold",
    "figure.facecolor": "none",
    "figure.figsize": (5.0, 2.8),
    "figure.constrained_layout.use": True,
    # The reader's own fonts show the words, so these only measure them: the second one
    # has a square for every character that the first one lacks, such as Chinese ones.
    "font.family": ["DejaVu Sans", "Last Resort High-Efficiency"],
    "font.size": 9,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "lines.linewidth": 1.6,
    "patch.edgecolor": INK,
    "svg.fonttype": "none",
    "text.color": INK,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
}


Drawing = Callable[[Texts], Figure]
"""What `drawings()` of a chapter's data has under a name: it is drawn when shown."""


def relabel(figure: Figure, text: Texts) -> Figure:
    """Put the chapter's words into a figure that a lab has drawn, and return it."""
    both = [axis for axes in figure.axes for axis in (axes.xaxis, axes.yaxis)]
    beside_ticks = [(axis, axis.get_ticklabels()) for axis in both]
    others = {*figure.findobj(Text)}.difference(*(labels for _, labels in beside_ticks))
    for label in others:
        assert isinstance(label, Text)
        label.set_text(text.instead_of(label.get_text()))
    for axis, labels in beside_ticks:
        said = [label.get_text() for label in labels]
        shown = [text.instead_of(one) for one in said]
        if shown != said:
            # A label beside a tick would be written anew.
            axis.set_ticks(axis.get_ticklocs(), shown)
    return figure


@contextmanager
def style() -> Generator[None]:
    """Use the style of the book for what is drawn inside the `with` block."""
    # It would say that the second font is never bold.
    logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)
    with mpl.rc_context({**mpl.rcParamsDefault, **_STYLE}):
        yield


def to_svg(figure: Figure, name: str, alt: str) -> str:
    """Write a figure as SVG that can stand inside a page.

    Args:
        figure: Five inches wide or less, which is legible on a phone.
        name: Keeps its identifiers apart from those of other figures.
        alt: What it shows, for those who do not see it.
    """
    text = StringIO()
    with mpl.rc_context({**_STYLE, "svg.hashsalt": name}):
        for part in (figure, *figure.axes):
            part.patch.set(facecolor="none", edgecolor="none")
        # `savefig` would draw it twice.
        FigureCanvasSVG(figure).print_svg(text, metadata={"Date": None})
    svg = text.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'(<svg [^>]*?)width="[^"]*" height="[^"]*"', r"\1", svg, count=1)
    svg = re.sub(r"font-family: [^;\"]*", "font-family: var(--font-stack)", svg)
    for colour, variable in _VARIABLES.items():
        svg = svg.replace(colour, f"var({variable})")
    label = alt.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
    return svg.replace("<svg ", f'<svg role="img" aria-label="{label}" ', 1)
