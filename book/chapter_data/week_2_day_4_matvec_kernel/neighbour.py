"""The ladder of `byte_matrix.h`: predicted, compiled, measured, and in registers."""

from functools import cache
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from tiny_llm_course.book.diagrams import blank, cell, words
from tiny_llm_course.book.drawing import INK, MUTED, SERIES, Texts
from tiny_llm_lab import measured

from .counting import qwen2_matrix

SMALL_ROWS, LARGE_ROWS, COLUMNS = 256, 74898, 896
"""The matrices of the example: one stays in the second cache, one in memory."""

LOOPS = {
    "plain": ("rows_plain", 1),
    "four rows": ("rows_of_four", 4),
    "converted": ("rows_converted", 4),
    "lanes": ("rows_in_lanes", 64),
    "wide lanes": ("rows_in_wide_lanes", 64),
    "bytes": ("rows_in_bytes", 16),
    "VNNI": ("rows_with_vnni", 64),
}
"""The function of each rung, and the weights of one round of its inner loop."""

LATENCIES = {"plain": 3, "four rows": 3, "converted": 3, "VNNI": 4}
"""Of the addition that a round of the inner loop waits for, in cycles."""

PER_CYCLE = 4
"""Instructions that begin in a cycle, as the text assumes."""

Q, P, X = (200, 17, 128, 255), (5, -90, 127, 3), (0.5, -1.25, 2.0, 0.75)
"""A few weights as bytes, activations as bytes, and activations as floats."""


@cache
def _times() -> dict[tuple[str, str], float]:
    return measured.example_ns("byte_matrix")


def _name(rung: str) -> str:
    """Write the name of a rung as the text quotes it."""
    return rung.lower().replace(" ", "_")


def cycles(rung: str) -> float:
    """Return the cycles for a weight, where the weights are in the cache."""
    cycle_ns = _times()["a thousand cycles", ""] / 1000
    return _times()[rung, "cache"] / (SMALL_ROWS * COLUMNS) / cycle_ns


def numbers() -> dict[str, Any]:
    """Return what the text quotes, by rung."""
    times = _times()
    return {
        **{_name(rung): _rung(rung) for rung in LOOPS},
        "cycle_ns": times["a thousand cycles", ""] / 1000,
        "small_kb": SMALL_ROWS * COLUMNS / 1e3,
        "large_mb": LARGE_ROWS * COLUMNS / 1e6,
        "vnni_over_plain": cycles("plain") / cycles("VNNI"),
        "lanes_over_four_rows": cycles("four rows") / cycles("lanes"),
        "vnni_over_lanes": cycles("lanes") / cycles("VNNI"),
        "row_ns": times["VNNI", "cache"] / SMALL_ROWS,
        "waits": times["VNNI", "memory"]
        / LARGE_ROWS
        / times["VNNI", "cache"]
        * SMALL_ROWS,
        "example": by_hand(),
    }


def _rung(rung: str) -> dict[str, Any]:
    """Return what one rung takes, and what it was compiled to."""
    function, weights = LOOPS[rung]
    loop = measured.instructions_of(function)
    memory = _times()[rung, "memory"]
    return {
        "cycles": cycles(rung),
        "predicted": _predicted(rung),
        "weights": weights,
        "instructions": len(loop),
        "per_weight": len(loop) / weights,
        "per_cycle": len(loop) / weights / cycles(rung),
        "assembly": "\n".join(loop),
        "ms": memory / 1e6,
        "of_reading": _times()["reading", "memory"] / memory,
    }


def _predicted(rung: str) -> float:
    """Return the cycles for a weight that the text predicts, before it measures."""
    function, weights = LOOPS[rung]
    if rung == "wide lanes":
        return cycles("lanes") / 4
    if rung in LATENCIES:
        return LATENCIES[rung] / weights
    return len(measured.instructions_of(function)) / weights / PER_CYCLE


def race() -> dict[str, Any]:
    """Return what the opening figure starts from: loops, and the memory."""
    rungs = ("plain", "four rows", "lanes", "wide lanes", "VNNI")
    return {
        "cycles": {_name(rung): cycles(rung) for rung in rungs},
        "cycle_ns": _times()["a thousand cycles", ""] / 1000,
        "bytes_per_ns": measured.machine().read_bytes_per_s / 1e9,
        "weights": qwen2_matrix()["weights"],
        "bits": {"floats": 32, "eight": 8 + 32 / 64, "four": 4 + 32 / 64},
    }


def by_hand() -> dict[str, Any]:
    """Multiply four weights by four activations, in floats and in bytes."""
    floats = [(q - 128) * x for q, x in zip(Q, X, strict=True)]
    products = [q * p for q, p in zip(Q, P, strict=True)]
    return {
        "q": list(Q),
        "p": list(P),
        "floats": floats,
        "products": products,
        "dot": sum(products),
        "sum": sum(P),
        "moved": sum(products) - 128 * sum(P),
        "direct": sum((q - 128) * p for q, p in zip(Q, P, strict=True)),
    }


def draw_floats(text: Texts) -> Figure:
    """Draw what the registers of a rung in floats hold, step by step."""
    rows = (
        (text["bytes"], [str(q) for q in Q]),
        (text["integers"], [str(q - 128) for q in Q]),
        (text["floats"], [f"{q - 128}.0" for q in Q]),
        (text["x"], [f"{x:g}" for x in X]),
        (text["products"], [f"{one:g}" for one in by_hand()["floats"]]),
    )
    return _draw_rows(rows, (0, 1, 2, 3, 4))


def draw_bytes(text: Texts) -> Figure:
    """Draw what one lane of `vpdpbusd` does with four bytes of either side."""
    found = by_hand()
    rows = (
        (text["q"], [str(q) for q in Q]),
        (text["p"], [str(p) for p in P]),
        (text["products"], [str(one) for one in found["products"]]),
    )
    figure = _draw_rows(rows, (0, 3, 4), bottom=-6.6)
    axes = figure.axes[0]
    words(axes, (4.6, -4.5), text["sum"].format(sum=found["dot"]), size=9)
    words(axes, (4.6, -5.5), text["wide"], size=9)
    words(axes, (4.6, -6.3), text["others"], size=9, color=MUTED)
    return figure


def _draw_rows(
    rows: tuple[tuple[str, list[str]], ...],
    hues: tuple[int, ...],
    bottom: float | None = None,
) -> Figure:
    """Draw registers one below the other, of four lanes each."""
    low = bottom if bottom is not None else -1.25 * len(rows)
    figure = Figure(figsize=(3.8, 0.42 * (1.6 - low)))
    axes = figure.subplots()
    blank(axes, (-5.2, 9.6), (low, 1.5))
    for place, ((name, texts), hue) in enumerate(zip(rows, hues, strict=True)):
        y = -1.25 * place
        words(axes, (-0.3, y + 0.5), name, size=9, ha="right")
        for lane, text in enumerate(texts):
            colour = (SERIES[hue % len(SERIES)], 0.25)
            for half in (0, 1):
                cell(axes, (2.4 * lane + half, y), colour, side=1, lw=0)
            axes.plot(
                np.array([0, 2, 2, 0, 0]) + 2.4 * lane,
                np.array([0, 0, 1, 1, 0]) + y,
                color=INK,
                linewidth=0.7,
            )
            words(axes, (2.4 * lane + 1, y + 0.5), text, size=9)
    return figure
