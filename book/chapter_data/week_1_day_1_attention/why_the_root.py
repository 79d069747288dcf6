"""How dot products spread with the width, and what softmax makes of that."""

import functools
import math
from collections.abc import Mapping

import mlx.core as mx
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from tiny_llm_course.book.drawing import SERIES, Texts
from tiny_llm_ref.basics import softmax

Floats = NDArray[np.float64]
WIDTHS = (4, 16, 64, 256)
NUM_DRAWN = 1000
NUM_RIVALS = 16


@functools.cache
def spread() -> list[Mapping[str, float]]:
    """Measure how dot products of random vectors spread, and how sharp softmax gets."""
    return [
        {
            "width": width,
            "root": round(math.sqrt(width)),
            "deviation": float(products.std()),
            "unscaled": _mean_largest_share(products),
            "scaled": _mean_largest_share(products / math.sqrt(width)),
        }
        for width, products in ((width, _products(width)) for width in WIDTHS)
    ]


@functools.cache
def _products(width: int) -> Floats:
    """Return dot products of random queries with `NUM_RIVALS` random keys each."""
    rng = np.random.default_rng(width)
    queries = rng.normal(size=(NUM_DRAWN, 1, width))
    keys = rng.normal(size=(NUM_DRAWN, NUM_RIVALS, width))
    return (queries * keys).sum(axis=-1)


def _mean_largest_share(scores: Floats) -> float:
    """Return the share of the most wanted key, on average over all queries."""
    shares = softmax(mx.array(scores.astype(np.float32)), axis=-1)
    return mx.mean(mx.max(shares, axis=-1)).item()


def draw_why_the_root(text: Texts) -> Figure:
    """Draw how dot products spread with the width, and what softmax makes of that."""
    figure = Figure(figsize=(5, 2.5))
    left, right = figure.subplots(1, 2)
    for width, colour in zip((4, 64), SERIES, strict=False):
        values = _products(width).ravel()
        density, edges = np.histogram(values, np.linspace(-30, 30, 81), density=True)
        left.plot((edges[1:] + edges[:-1]) / 2, density, color=colour)
    left.text(3.2, 0.15, "D = 4", color=SERIES[0])
    left.text(11.5, 0.025, "D = 64", color=SERIES[1])
    left.set(title=text["products"], yticks=[0, 0.1, 0.2])
    left.set(xlabel=text["value"], ylabel=text["density"])
    rows = spread()
    places = range(len(rows))
    for key, colour in (("unscaled", SERIES[1]), ("scaled", SERIES[0])):
        heights = [one[key] for one in rows]
        right.plot(places, heights, "o-", color=colour, markersize=4)
        look = {"color": colour, "ha": "right", "va": "top"}
        right.text(3.1, heights[-1] - 0.09, text[key], **look)
    right.set_xticks(places, [str(width) for width in WIDTHS])
    right.set(title=text["largest"], xlabel=text["width"], ylim=(0, 1.05))
    return figure
