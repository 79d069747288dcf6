"""Drafts of the embedded model, as `pdm run lab speculation` has measured them."""

from collections.abc import Mapping, Sequence
from typing import Any

from tiny_llm_lab import measured
from tiny_llm_lab.bench.models import EMBEDDED_MODEL, QWEN2_0_5B
from tiny_llm_lab.experiments.draft_arithmetic import break_even
from tiny_llm_lab.experiments.drafts import COUNTS, NUM_STORIES
from tiny_llm_lab.experiments.speculation import (
    CONTEXT,
    SAME,
    break_evens,
    comparison,
    plain_ms,
    step_times,
    value_of,
)
from tiny_llm_lab.records import Row

from .drafts import DRAFT_COST, LENGTH

COST = "cost of a proposal"
STREAMED = 1.1
"""What a step over a few tokens takes where memory is waited for most of the time."""


def measured_drafts() -> dict[str, Any]:
    """Return how often drafts are right, what they cost, and what comes of it."""
    rows = measured.speculated()
    found = comparison(rows)
    own = [one for one in found if one["draft"] != COUNTS]
    counted = [one for one in found if one["draft"] == COUNTS]
    best = max(counted, key=lambda one: one["measured"])
    _check_claims(own, best)
    steps = {EMBEDDED_MODEL: "embedded", QWEN2_0_5B: "large"}
    return {
        "own": [_numbers(rows, one) for one in own],
        "counts": [_numbers(rows, one) for one in counted],
        "best": _numbers(rows, best),
        "stories": NUM_STORIES,
        "plain_ms": plain_ms(rows),
        "context": CONTEXT,
        "same": round(NUM_STORIES * value_of(rows, SAME, COUNTS, "share", LENGTH)),
        "steps": {
            name: {str(number): one for number, one in step_times(rows, model).items()}
            for model, name in steps.items()
        },
        "off": max(
            abs(float(one["so speed"]) / float(one["measured"]) - 1) for one in found
        ),
        "even": _needed(rows),
    }


def _numbers(rows: Sequence[Row], one: Mapping[str, Any]) -> dict[str, Any]:
    """Return a line of the comparison, and both shares with their errors."""
    shares = {
        str(row["measured"]): row
        for row in rows
        if (row["of"], row["unit"]) == (one["draft"], "share")
    }
    return {
        "length": one["proposals"],
        "by_chance": one["tokens, if by chance"],
        "tokens": one["tokens"],
        "cost": one[COST],
        "computed": one["so speed"],
        "speed": one["measured"],
        **{
            name: {
                "share": float(row["value"]),
                "error": float(row["high"]) - float(row["value"]),
            }
            for name, row in shares.items()
        },
    }


def _needed(rows: Sequence[Row]) -> dict[str, Any]:
    """Return how often a draft of the large model has to be right, by arithmetic."""
    free, tenth = (break_evens(rows, QWEN2_0_5B, cost) for cost in (0.0, DRAFT_COST))
    streamed = break_even(LENGTH, DRAFT_COST, STREAMED)
    assert streamed is not None
    assert streamed < tenth[LENGTH]
    return {
        "free": free[LENGTH],
        "tenth": tenth[LENGTH],
        "assumed": STREAMED,
        "streamed": streamed,
    }


def _check_claims(own: Sequence[Row], best: Row) -> None:
    """Check what the text says of the drafts."""
    shares, costs = ([float(one[key]) for one in own] for key in ("right", COST))
    assert shares == sorted(shares)
    speed = float(best["measured"])
    assert all(float(one["measured"]) < min(0.8, speed) for one in own)
    assert speed < 1.05, "something is won; change the prose"
    assert 0.3 < costs[0] < costs[-1]
    assert float(best[COST]) < costs[0]
    assert abs(float(best["right"]) - shares[-1]) < 0.1
