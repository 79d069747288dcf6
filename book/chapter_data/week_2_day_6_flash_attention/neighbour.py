"""The ladder of `log_sum_exp.h`: predicted, compiled and measured."""

import math
from functools import cache
from typing import Any

from tiny_llm_lab import measured

SMALL, LARGE = 256**2, 4096**2
"""The scores of the two squares: one stays in the second cache, one in memory."""

LOOPS = {
    "online": ("rows_online", 1),
    "polynomial": ("rows_with_polynomial", 1),
    "scores in 4 lanes": ("scores_in_4_lanes", 4),
    "rows in 4 lanes": ("rows_in_4_lanes", 4),
    "scores in 16 lanes": ("scores_in_16_lanes", 64),
    "rows in 16 lanes": ("rows_in_16_lanes", 16),
}
"""The function of a rung, and the scores of one round of its inner loop."""

PER_CYCLE = 4
"""Instructions that begin in a cycle, as the text assumes."""

MAXIMUM = 4
"""Instructions of the loop over maxima: load, compare, count, jump."""

LATENCY = 3
"""Cycles of an addition or a maximum that waits for the last one."""

TRAFFIC = 4
"""Times that numbers go through memory if weights are written down: scores are read
twice, weights are written and read."""

TILE = 64
"""Scores that share a factor."""

COMPARED = {
    "online": ("online", "tile by tile", "cache", (1.3, 4)),
    "polynomial": ("polynomial", "tile by tile", "cache", (1.05, 3)),
    "lanes": ("polynomial", "scores in 4 lanes", "cache", (2, 4)),
    "eight": ("scores in 4 lanes", "scores in 8 lanes", "cache", (2, 4)),
    "sixteen": ("scores in 8 lanes", "scores in 16 lanes", "cache", (0.7, 1.3)),
    "rows": ("scores in 16 lanes", "rows in 16 lanes", "cache", (1.4, 4)),
    "written": ("lanes, written down", "rows in 16 lanes", "cache", (0.9, 1.35)),
    "written_memory": ("lanes, written down", "rows in 16 lanes", "memory", (1.6, 6)),
    "triangle": ("triangle", "scores in 16 lanes", "cache", (0.64, 0.97)),
    "heads": ("heads one by one", "heads together", "memory", (5, 9)),
}
"""How many times as long the first takes as the second, where, and the least and the
most for which the prose is true."""


@cache
def _times() -> dict[tuple[str, str], float]:
    return measured.example_ns("log_sum_exp")


def _cycles(rung: str) -> float:
    """Return the cycles for a score, where the scores are in the cache."""
    cycle_ns = _times()["a thousand cycles", ""] / 1000
    return _times()[rung, "cache"] / SMALL / cycle_ns


def numbers() -> dict[str, Any]:
    """Return what the text quotes, by rung."""
    times = _times()
    return {
        **{_name(rung): _rung(rung) for rung, where in times if where == "cache"},
        "cycle_ns": times["a thousand cycles", ""] / 1000,
        "small_kb": 4 * SMALL / 1e3,
        "large_mb": 4 * LARGE / 1e6,
        "side": {"small": math.isqrt(SMALL), "large": math.isqrt(LARGE)},
        "one_call": _cycles("written down") - 2 * LATENCY,
        "traffic": TRAFFIC,
        "traffic_ms": TRAFFIC * times["reading", "memory"] / 1e6,
        "times": {name: _compared(name) for name in COMPARED},
        "predicted": _predicted(),
        "whole": sum("%zmm" in one for one in _loop("scores in 16 lanes")),
    }


def _name(rung: str) -> str:
    """Write the name of a rung as the text quotes it."""
    return rung.lower().replace(", ", "_").replace(" ", "_")


def _loop(rung: str) -> list[str]:
    """Return the instructions of the inner loop of a rung."""
    return measured.instructions_of(LOOPS[rung][0])


def _rung(rung: str) -> dict[str, Any]:
    """Return what one rung takes, and what it was compiled to."""
    found: dict[str, Any] = {
        "cycles": _cycles(rung),
        "ms": _times()[rung, "memory"] / 1e6,
    }
    if rung not in LOOPS:
        return found
    loop, scores = _loop(rung), LOOPS[rung][1]
    return found | {
        "instructions": len(loop),
        "per_score": len(loop) / scores,
        "predicted": len(loop) / scores / PER_CYCLE,
        "assembly": "\n".join(loop),
        "of_stack": sum("(%rsp)" in one for one in loop),
    }


def _compared(name: str) -> float:
    """Return how many times as long one rung takes as another, if the prose is true."""
    rung, other, where, (least, most) = COMPARED[name]
    found = _times()[rung, where] / _times()[other, where]
    assert least < found < most, f"{name}: {found:.2f}; change the prose, or measure"
    return found


def _predicted() -> dict[str, float]:
    """Return what the text predicts from other rungs."""
    tiles = math.isqrt(SMALL) / TILE
    return {
        "online": 2 * (_cycles("written down") - 2 * LATENCY),
        "tile": _cycles("written down") - LATENCY,
        "rows_in_16": (len(_loop("rows in 16 lanes")) + MAXIMUM) / 16,
        "triangle": (tiles + 1) / 2 / tiles,
    }
