"""The primer of Week 2: three loops, timed, and what is in a register and in a line."""

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tiny_llm_course.book.diagrams import arrow, blank, cell, words
from tiny_llm_course.book.drawing import INK, MUTED, SERIES, Drawing, Texts
from tiny_llm_lab import measured

NUMBERS = {"cache": 4096, "memory": 64 * 2**20}
"""How many numbers the loops add, by where these are."""

LOOPS = {
    "one": "one sum",
    "lanes": "sums in lanes",
    "lines": "one of each line",
}


def numbers() -> dict[str, Any]:
    """Return the times of the loops, and what follows from them."""
    plain, native = (
        measured.example_ns("three_loops", built_for)
        for built_for in ("plain", "native")
    )
    cycle = plain["a thousand cycles", ""] / 1000
    in_cache = {name: plain[loop, "cache"] for name, loop in LOOPS.items()}
    in_memory = {name: plain[loop, "memory"] / 1e6 for name, loop in LOOPS.items()}
    wide = native["sums in lanes", "cache"]
    return {
        "cycle_ns": cycle,
        "ghz": 1 / cycle,
        "numbers": NUMBERS,
        "kb": 4 * NUMBERS["cache"] / 1024,
        "mb": 4 * NUMBERS["memory"] / 2**20,
        "cache": in_cache | {"wide": wide},
        "memory": in_memory,
        "cycles": {
            name: time / NUMBERS["cache"] / cycle
            for name, time in (in_cache | {"wide": wide}).items()
        },
        "times": {
            "lanes": in_cache["one"] / in_cache["lanes"],
            "wide": in_cache["one"] / wide,
            "lines_in_cache": in_cache["lanes"] / in_cache["lines"],
            "lines": in_memory["lines"] / in_memory["lanes"],
            "memory": in_memory["lanes"]
            * 1e6
            / NUMBERS["memory"]
            / (in_cache["lanes"] / NUMBERS["cache"]),
        },
        "start_us": plain["start a thread", ""] / 1e3,
        "wake_us": plain["wake a sleeping thread", ""] / 1e3,
        "call_us": plain["call one that is awake", ""] / 1e3,
        "meanwhile": plain["wake a sleeping thread", ""] / in_cache["lanes"],
    }


def drawings() -> dict[str, Drawing]:
    """Return an addition in lanes, and the lines that two loops touch."""
    return {"lanes": draw_lanes, "lines": draw_lines}


SUMS = (2, 5, -2, 4)
NEXT = (3, 1, 4, -1)


def draw_lanes(text: Texts) -> Figure:
    """Draw two registers of four lanes, and their sum."""
    figure = Figure(figsize=(3.7, 1.7))
    axes = figure.subplots()
    blank(axes, (-4.2, 9.4), (-3.6, 1.9))
    rows = (
        (text["sums"], SUMS, SERIES[0]),
        (f"+  {text['next']}", NEXT, SERIES[1]),
        (
            f"=  {text['sums']}",
            [a + b for a, b in zip(SUMS, NEXT, strict=True)],
            SERIES[2],
        ),
    )
    for lane in range(len(SUMS)):
        label = text["lane"].format(number=lane)
        words(axes, (2.5 * lane + 0.6, 1.5), label, size=9, color=MUTED)
    for place, (name, values, hue) in enumerate(rows):
        words(axes, (-0.3, 0.3 - 1.5 * place), name, size=9, ha="right")
        for lane, value in enumerate(values):
            corner = (2.5 * lane, -0.3 - 1.5 * place)
            cell(axes, corner, (hue, 0.25), side=1.2, ec=INK, lw=0.7)
            words(axes, (corner[0] + 0.6, corner[1] + 0.6), f"{value:g}", size=9)
    return figure


def draw_lines(text: Texts) -> Figure:
    """Draw two cache lines, and which of their numbers each loop reads."""
    figure = Figure(figsize=(3.7, 1.5))
    axes = figure.subplots()
    blank(axes, (-0.6, 33.6), (-5.6, 2.8))
    for line in range(2):
        left = 17 * line
        label = text["line"].format(number=line)
        words(axes, (left + 8, 2.1), label, size=9, color=MUTED)
        _draw_line(axes, (left, 0), SERIES[0], read=16)
        _draw_line(axes, (left, -2.4), SERIES[1], read=1)
        arrow(axes, (left + 8, -4.6), (left + 8, -2.9), MUTED)
    words(axes, (16.5, -5.2), text["memory"], size=9)
    return figure


def _draw_line(axes: Axes, corner: tuple[float, float], hue: str, read: int) -> None:
    """Draw sixteen numbers, of which the first few are read."""
    for place in range(16):
        look = (hue, 0.55 if place < read else 0.08)
        cell(axes, (corner[0] + place, corner[1]), look, side=1, ec=INK, lw=0.5)
