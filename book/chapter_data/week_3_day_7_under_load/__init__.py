"""Week 3, day 7: a queue with and without a bound, buckets, and when a draft pays."""

from collections.abc import Mapping, Sequence
from typing import Any

from tiny_llm_ref.metrics import Metrics

from .drafts import draft_numbers
from .histogram import TOOK, table, worked
from .queues import figure_data, queue_numbers
from .served import served
from .speculated import measured_drafts


def numbers() -> dict[str, Any]:
    """Return the numbers of the text."""
    return {
        "queue": queue_numbers(),
        "worked": worked(),
        "drafts": draft_numbers(),
        "served": served(),
        "measured": measured_drafts(),
    }


def tables() -> Mapping[str, Sequence[Sequence[str]]]:
    """Return the buckets of a histogram."""
    return {"buckets": table()}


def data() -> dict[str, Any]:
    """Return what the interactive figure shows."""
    return {"bounded-queue": figure_data()}


def page(kind: type[Metrics], *values: float) -> list[str]:
    """Return what metrics write about some values, without the two first lines."""
    metrics = kind([TOOK])
    for value in values:
        metrics.observe(TOOK.name, value)
    return metrics.render().splitlines()[2:]


def examples() -> dict[str, Any]:
    """Return what the examples of known mistakes may call."""
    return {"page": page}
