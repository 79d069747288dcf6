"""What a step takes, as `pdm run lab step-costs` has measured it."""

from typing import Any

from tiny_llm_lab import measured
from tiny_llm_lab.bench.models import EMBEDDED_MODEL
from tiny_llm_lab.experiments.step_costs import STREAMS

ARRIVES = 240
"""Tokens of the prompt that comes in while others are answered."""


def took_ms(tokens: float) -> float:
    """Return the milliseconds of a step, on the line between two measured ones."""
    found = sorted(measured.step_ms(EMBEDDED_MODEL).items())
    place = max(1, next(i for i, (one, _) in enumerate(found) if one >= tokens))
    (x0, y0), (x1, y1) = found[place - 1], found[place]
    return y0 + (y1 - y0) * (tokens - x0) / (x1 - x0)


def arrival(budget: int) -> dict[str, float]:
    """Return what a prompt does to those who run, with a budget of so many tokens."""
    pieces, left = list[int](), ARRIVES
    while left:
        pieces.append(min(left, budget - STREAMS))
        left -= pieces[-1]
    times = [took_ms(piece + STREAMS) for piece in pieces]
    usual = took_ms(STREAMS)
    return {
        "budget": budget,
        "steps": len(pieces),
        "pause": max(times),
        "times": max(times) / usual,
        "wait": sum(times),
    }


def step_costs() -> dict[str, Any]:
    """Return steps of few and many tokens, and what three budgets come to."""
    found = measured.step_ms(EMBEDDED_MODEL)
    few, many = min(found), max(found)
    assert found[many] < 0.5 * found[few] * many / few, "many tokens share the weights"
    arrivals = [arrival(budget) for budget in (16, 64, 256)]
    assert arrivals[0]["pause"] < arrivals[-1]["pause"]
    assert arrivals[0]["wait"] > arrivals[-1]["wait"]
    return {
        "few": few,
        "many": many,
        "times_tokens": many // few,
        "times": found[many] / found[few],
        "steps": [{"tokens": one, "ms": ms} for one, ms in found.items()],
        "prompt": ARRIVES,
        "streams": STREAMS,
        "usual": took_ms(STREAMS),
        "arrivals": arrivals,
    }


def figure_data() -> dict[str, Any]:
    """Return the milliseconds of a step, by its tokens."""
    return {"ms": sorted(measured.step_ms(EMBEDDED_MODEL).items())}
