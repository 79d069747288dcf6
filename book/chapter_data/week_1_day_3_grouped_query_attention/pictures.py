"""Heads, masks, and the way through the layer."""

import mlx.core as mx
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle

from tiny_llm_course.book.diagrams import Point, arrow, bare, blank, box, cell, words
from tiny_llm_course.book.drawing import INK, MUTED, PAPER, SERIES, Texts
from tiny_llm_ref.attention import causal_mask


def draw_three_ways(text: Texts) -> Figure:
    """Draw four query heads with four, two and one key/value heads."""
    figure = Figure(figsize=(5, 1.45))
    ways = {"multi_head": 4, "grouped_query": 2, "multi_query": 1}
    panels = figure.subplots(1, 3)
    for axes, (way, num_kv_heads) in zip(panels, ways.items(), strict=True):
        blank(axes, (-0.6, 3.6), (-0.5, 1.7), aspect="equal")
        axes.set_title(text[way])
        group = 4 // num_kv_heads
        for head in range(4):
            shared = head // group
            x = shared * group + (group - 1) / 2
            axes.plot((head, x), (1.2, 0), color=SERIES[shared], zorder=1)
            disc = Circle((head, 1.2), 0.38, fc=PAPER, ec=SERIES[shared], zorder=2)
            axes.add_patch(disc)
            words(axes, (head, 1.2), str(head), size=9)
        for shared in range(num_kv_heads):
            x = shared * group + (group - 1) / 2
            look = {"ec": SERIES[shared], "lw": 2, "zorder": 2}
            cell(axes, (x - 0.38, -0.38), PAPER, side=0.76, **look)
            words(axes, (x, 0), str(shared), size=9)
    return figure


def draw_masks(_: Texts) -> Figure:
    """Draw three causal masks: as many queries as keys, fewer, and one."""
    shapes = ((5, 5), (2, 5), (1, 5))
    figure = Figure(figsize=(5, 2.0))
    panels = figure.subplots(1, 3)
    for axes, (num_queries, num_keys) in zip(panels, shapes, strict=True):
        mask = causal_mask(num_queries, num_keys, mx.float32).tolist()
        for row, entries in enumerate(mask):
            for column, entry in enumerate(entries):
                fill, colour, text = (
                    (SERIES[0], PAPER, "0") if entry == 0 else ("none", MUTED, "-inf")
                )
                cell(axes, (column - 0.5, row - 0.5), fill, ec=MUTED, lw=0.8)
                words(axes, (column, row), text, color=colour, size=8)
        axes.set(xlim=(-0.5, num_keys - 0.5), ylim=(5.2, -0.5), aspect="equal")
        axes.set_title(f"L = {num_queries}, S = {num_keys}")
        for column in range(num_keys):
            words(axes, (column, num_queries - 0.1), str(column), size=9, color=MUTED)
        axes.set_xticks([])
        positions = range(num_keys - num_queries, num_keys)
        axes.set_yticks(range(num_queries), [str(one) for one in positions])
        bare(axes)
    return figure


def draw_layer(text: Texts) -> Figure:
    """Draw the way of x through the attention of Qwen2, with its shapes."""
    figure = Figure(figsize=(5, 5.6))
    axes = figure.subplots()
    blank(axes, (0, 10), (-0.5, 11.4))
    _step(axes, (5, 10.8), ("x", "B x L x E"), width=3)
    _draw_projection(axes, 1.7, ("wq, bq", "H"), SERIES[0], text, rotated=True)
    _draw_projection(axes, 5.0, ("wk, bk", "H_kv"), SERIES[1], text, rotated=True)
    _draw_projection(axes, 8.3, ("wv, bv", "H_kv"), SERIES[2], text, rotated=False)
    _step(axes, (5, 2.1), (text["attention"], "B x H x L x D"), width=6)
    arrow(axes, (5, 1.6), (5, 0.9))
    merge = text["merge"].format(parameters="wo")
    _step(axes, (5, 0.4), (merge, "B x L x E"), width=6)
    return figure


def _draw_projection(
    axes: Axes,
    x: float,
    names: tuple[str, str],
    colour: str,
    text: Texts,
    *,
    rotated: bool,
) -> None:
    """Draw a column: from the input to query, key or value heads.

    Args:
        axes: Where to draw.
        x: The middle of the column.
        names: Those of its weights, and that of its number of heads.
        colour: Of all in it.
        text: The names of the steps.
        rotated: Whether its vectors are turned by their positions.
    """
    parameters, heads = names
    linear = text["linear"].format(parameters=parameters)
    arrow(axes, (5, 10.3), (x, 9.4), colour)
    _step(axes, (x, 8.9), (linear, f"B x L x ({heads} D)"), colour)
    arrow(axes, (x, 8.4), (x, 7.7), colour)
    _step(axes, (x, 7.2), (text["split"], f"B x L x {heads} x D"), colour)
    if rotated:
        arrow(axes, (x, 6.7), (x, 6.0), colour)
        _step(axes, (x, 5.5), (text["rotate"], f"B x L x {heads} x D"), colour)
    arrow(axes, (x, 5.0 if rotated else 6.7), (x, 4.3), colour)
    _step(axes, (x, 3.8), (text["swap"], f"B x {heads} x L x D"), colour)
    arrow(axes, (x, 3.3), (min(max(x, 3.2), 6.8), 2.6), colour)


def _step(
    axes: Axes,
    at: Point,
    texts: tuple[str, str],
    colour: str = INK,
    width: float = 3.1,
) -> None:
    """Draw a step of the layer: its name, and below it the shape that it gives."""
    x, y = at
    name, shape = texts
    box(axes, at, "", colour, size=(width, 1))
    words(axes, (x, y + 0.2), name, size=10)
    words(axes, (x, y - 0.23), shape, size=9, color=MUTED)
