"""The figure of a run: a panel per model and work, a bar per engine."""

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tiny_llm_lab.bench.results import Row

COLOURS = {
    "mlx_lm": "#0072b2",
    "transformers": "#e69f00",
    "llama.cpp": "#cc79a7",
    "onnxruntime": "#56b4e9",
    "openvino": "#d55e00",
}
OURS = "#009e73"


def draw(rows: Sequence[Row]) -> Figure:
    """Draw speeds as bars on a logarithmic axis, and the roofline as a mark."""
    panels = list(dict.fromkeys((row["model"], row["work"]) for row in rows))
    heights = [1 + sum(_panel(row) == one for row in rows) for one in panels]
    figure = Figure(figsize=(7.5, 0.8 + 0.28 * sum(heights)), layout="constrained")
    found = figure.subplots(len(panels), 1, height_ratios=heights, squeeze=False)
    for axes, panel in zip(found[:, 0], panels, strict=True):
        _draw_panel(axes, [row for row in rows if _panel(row) == panel])
        axes.set_title(": ".join(map(str, panel)), loc="left", fontsize=9)
    found[-1, 0].set_xlabel("tokens/s; the line marks what the machine could do")
    return figure


def _panel(row: Row) -> tuple[Any, Any]:
    """Return the panel of a row."""
    return row["model"], row["work"]


def _draw_panel(axes: Axes, rows: Sequence[Row]) -> None:
    """Draw one panel, the first row at the top."""
    names: list[str] = []
    for place, row in enumerate(rows):
        engine = str(row["engine"])
        axes.barh(place, row["tokens_per_s"], color=COLOURS.get(engine, OURS))
        axes.plot(row["roofline_tokens_per_s"], place, "k|", markersize=11)
        variant = f" {row['rung']}" if row["rung"] else ""
        names.append(f"{engine}{variant}, {row['weights']}: {row['tokens']}")
    axes.set_xscale("log")
    axes.set_yticks(range(len(rows)), names, fontsize=7)
    axes.invert_yaxis()
    axes.grid(visible=True, axis="x", linewidth=0.4)
    axes.set_axisbelow(True)
