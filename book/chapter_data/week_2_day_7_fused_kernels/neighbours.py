"""The ways of `passes.h`: predicted, compiled and measured."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from tiny_llm_lab import measured
from tiny_llm_lab.experiments.worked_examples import KERNEL

D, ROWS, CURVE = 896, 9362, 4864
"""A row of the blend, its rows in memory, and the numbers of a curve."""

TRIPS = {"operations": 7, "lanes": 7, "row by row": 3, "one loop": 3, "wide": 3}
"""How often each way of the blend reads or writes an array in memory."""

LATENCY, PER_CYCLE, SUMS = 3, 4, 32
"""Cycles of an addition, instructions begun in a cycle, and sums side by side."""

IN_FOUR_LOOPS, IN_ONE_LOOP = 16, 7
"""Instructions for a register of numbers, as the text counts them."""


@cache
def _times(built_for: str) -> Mapping[tuple[str, str], float]:
    return measured.example_ns("passes", built_for)


def _cycles(what: str, count: int, built_for: str = KERNEL) -> float:
    """Return the cycles for a number, where the numbers are in the cache."""
    times = _times(built_for)
    return times[what, "cache"] / count / (times["a thousand cycles", ""] / 1000)


def numbers() -> dict[str, Any]:
    """Return what the text quotes."""
    return {
        "blend": _blend(),
        "bell": _bell(),
        "window": _window(),
        "sums": _sums(),
    } | {"norm": _norm()}


def _blend() -> dict[str, Any]:
    """Return the five rungs of the blend, and what the text says about them."""
    ends = 2 * SUMS * LATENCY / D
    predicted = {
        "operations": 2 * LATENCY,
        "lanes": IN_FOUR_LOOPS / 4 / PER_CYCLE,
        "row by row": IN_FOUR_LOOPS / 4 / PER_CYCLE,
        "one loop": IN_ONE_LOOP / 4 / PER_CYCLE,
        "wide": IN_ONE_LOOP / 16 / PER_CYCLE,
    }
    found = {
        way.replace(" ", "_"): {
            "predicted": predicted[way],
            "cycles": _cycles(f"blend, {way}", D),
            "trips": trips,
            "ms": _times(KERNEL)[f"blend, {way}", "memory"] / 1e6,
        }
        for way, trips in TRIPS.items()
    }
    in_memory = {way: one["ms"] for way, one in found.items()}
    assert found["operations"]["cycles"] > 5, "the control waits for its additions"
    assert in_memory["lanes"] > 1.5 * in_memory["row_by_row"], "trips cost time"
    assert in_memory["wide"] > 0.6 * in_memory["row_by_row"], "from memory it waits"
    assert in_memory["operations"] > 1.3 * in_memory["lanes"], "the control waits"
    return {
        **found,
        "ends": ends,
        "with_ends": predicted["wide"] + ends,
        "array_mb": D * ROWS * 4 / 1e6,
        "trips_ratio": TRIPS["lanes"] / TRIPS["row by row"],
        "times_in_memory": in_memory["lanes"] / in_memory["row_by_row"],
        "times_in_cache": found["row_by_row"]["cycles"] / found["one_loop"]["cycles"],
        "instructions": len(measured.instructions_of("blend_wide")),
        "assembly": "\n".join(measured.instructions_of("blend_wide")),
    }


def _norm() -> dict[str, float]:
    """Predict a norm with 64 sums: six instructions for 16 numbers, and its end."""
    loops, end = D / 16 * 6 / PER_CYCLE, 64 * LATENCY
    cycle_us = _times(KERNEL)["a thousand cycles", ""] / 1e6
    row_kb = 2 * D * 4 / 1e3
    return {"loops": loops, "end": end, "us": (loops + end) * cycle_us, "kb": row_kb}


def _bell() -> dict[str, Any]:
    """Return the ways of the bell curve, compiled without a promise and with it."""
    jumping = _cycles("bell, inlined", CURVE, "plain")
    called = _cycles("bell, called", CURVE)
    inlined, wide = (_cycles(f"bell, {way}", CURVE) for way in ("inlined", "wide"))
    assert jumping > inlined > wide, "each step brings something"
    return {
        "called": called,
        "jumping": jumping,
        "inlined": inlined,
        "wide": wide,
        "called_over_wide": called / wide,
        "us": _times(KERNEL)["bell, wide", "cache"] / 1000,
        "jumping_instructions": len(measured.instructions_of("bell_inlined")),
        "instructions": len(measured.instructions_of("bell_wide")),
        "predicted": len(measured.instructions_of("bell_wide")) / 16 / PER_CYCLE,
        "assembly_called": "\n".join(measured.instructions_of("bell_called")),
        "assembly_wide": "\n".join(measured.instructions_of("bell_wide")),
    }


def _window() -> dict[str, float]:
    """Return the ways of the window."""
    computed = _cycles("window, computed", CURVE)
    from_table = _cycles("window, from a table", CURVE)
    assert computed > 10 * from_table, "a cosine takes many cycles"
    return {
        "computed": computed,
        "from_table": from_table,
        "times": computed / from_table,
        "predicted": 7 / 4 / PER_CYCLE,
    }


def _sums() -> dict[str, float]:
    """Return the microseconds of eight small sums, and what a round costs."""
    times = _times(KERNEL)
    us = {
        way.replace(" ", "_"): times[f"sums, {way}", "cache"] / 1000
        for way in ("one core", "eight rounds", "one round")
    }
    saved = us["eight_rounds"] - us["one_round"]
    assert saved > 0, "a round costs something"
    piece_ns = us["one_core"] * 1000 / (8 * 4)
    return {**us, "piece_ns": piece_ns, "round_ns": saved * 1000 / 7}
