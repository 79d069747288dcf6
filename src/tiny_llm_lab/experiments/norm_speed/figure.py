"""The figure of the lab: the ratio of times, and how near both are to a copy."""

from collections.abc import Callable, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

from tiny_llm_lab.experiments.norm_speed.contest import (
    BOTH,
    FORWARD,
    LAYER,
    RMS,
    TRAINING,
)
from tiny_llm_lab.experiments.norm_speed.results import Result, results
from tiny_llm_lab.records import Row

MARKERS = {"float32": ("C0", "o"), "float16": ("C1", "s"), "bfloat16": ("C2", "^")}
PAPER = (1 / (1 - 0.07), 1 / (1 - 0.64))
"""Time reduced by 7 % to 64 %, as LayerNorm's time over RMSNorm's."""

SPREAD = 0.7
"""The width of the points of one form; two forms are 1 apart."""


def draw(rows: Sequence[Row]) -> Figure:
    """Draw the ratio of times for both directions, and the bandwidth below."""
    found = [result for result in results(rows) if result.case.part != "root"]
    forward, back = (
        [result for result in found if result.case.direction in directions]
        for directions in ((FORWARD,), (BOTH, TRAINING))
    )
    figure = Figure(figsize=(5, 9), layout="constrained")
    above, middle, below = figure.subplots(3, 1)
    _draw_ratios(above, forward)
    above.set(title="forward", ylabel="LayerNorm / RMSNorm, time")
    _draw_ratios(middle, back)
    middle.set(title="forward and backward", ylabel="LayerNorm / RMSNorm, time")
    _draw_shares(below, [result for result in forward if result.case.part == "norm"])
    below.set(title="forward", ylabel="bandwidth, share of a copy's")
    below.set_xlabel("in each column: by dtype, then from narrow to wide")
    figure.legend(handles=_legend(), loc="outside lower center", ncols=2)
    return figure


def _draw_ratios(axes: Axes, found: Sequence[Result]) -> None:
    """Draw how much longer LayerNorm takes, with quartiles, and the paper's range."""
    axes.axhspan(*PAPER, color="C3", alpha=0.2, linewidth=0)
    axes.axhline(1, color="C4", linewidth=0.8)

    def point(result: Result, place: float) -> None:
        times = result.times_first(LAYER)
        colour, marker = MARKERS[result.case.dtype]
        axes.errorbar(
            place,
            times.middle,
            [[times.middle - times.low], [times.high - times.middle]],
            fmt=marker,
            color=colour,
            markersize=4,
        )

    _place(axes, found, point)
    _label_logarithmic(axes, "{x:g}")


def _draw_shares(axes: Axes, found: Sequence[Result]) -> None:
    """Draw the share of the bandwidth that each norm reaches."""
    axes.axhline(1, color="C4", linewidth=0.8)

    def point(result: Result, place: float) -> None:
        colour, marker = MARKERS[result.case.dtype]
        for norm, fill in ((RMS, colour), (LAYER, "none")):
            axes.plot(
                place,
                result.copy_share(norm),
                marker,
                color=colour,
                markerfacecolor=fill,
                markersize=5,
            )

    _place(axes, found, point)
    _label_logarithmic(axes, "{x:.0%}")


def _label_logarithmic(axes: Axes, layout: str) -> None:
    """Make the vertical axis logarithmic, with plain numbers as labels."""
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(StrMethodFormatter(layout))
    axes.yaxis.set_minor_formatter(NullFormatter())


def _place(
    axes: Axes, found: Sequence[Result], point: Callable[[Result, float], None]
) -> None:
    """Place the cases of one form side by side: by dtype, then by width."""
    groups: dict[str, list[Result]] = {}
    for result in found:
        groups.setdefault(_name(result), []).append(result)
    for number, group in enumerate(groups.values()):
        for place, result in enumerate(group):
            offset = (place + 0.5) / len(group) - 0.5
            point(result, number + SPREAD * offset)
    axes.set_xticks(range(len(groups)), list(groups), rotation=35, ha="right")
    axes.set_xlim(-0.6, len(groups) - 0.4)


def _name(result: Result) -> str:
    """Name a group of cases below the axis."""
    case = result.case
    if case.part == "norm":
        return f"{case.library}, {case.form}"
    what = "training" if case.direction == TRAINING else "model"
    return f"{what}, {case.form}"


def _legend() -> list[Line2D]:
    """Explain colours, markers, filling, the line and the band."""
    dtypes = [
        Line2D([], [], color=colour, marker=marker, linestyle="", label=dtype)
        for dtype, (colour, marker) in MARKERS.items()
    ]
    filling = [
        Line2D([], [], color="C0", marker="o", linestyle="", label="RMSNorm (below)"),
        Line2D(
            [],
            [],
            color="C0",
            marker="o",
            markerfacecolor="none",
            linestyle="",
            label="LayerNorm (below)",
        ),
    ]
    band = Line2D(
        [], [], color="C3", alpha=0.3, linewidth=7, label="7 to 64 %, RMSNorm paper"
    )
    return [*dtypes, *filling, band]
