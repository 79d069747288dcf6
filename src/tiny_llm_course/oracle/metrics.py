"""What Prometheus reads after some events: from its own client for Python."""

from collections.abc import Mapping, Sequence
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import generate_latest

from tiny_llm_course.grading.scenarios.under_load import (
    REFUSED,
    Event,
    Measured,
    samples,
)

METHODS = {"count": "inc", "set": "set", "observe": "observe"}
"""What the client calls the methods of `Metrics`."""


def recorded(
    families: Sequence[Measured], events: Sequence[Event]
) -> Mapping[str, float]:
    """Let the client record the events, and return each sample that it writes."""
    registry = CollectorRegistry()
    labels = {event.name: sorted(dict(event.labels)) for event in events}
    made = {one[0]: _made(one, labels.get(one[0], []), registry) for one in families}
    num_refused = 0
    for event in events:
        series = made[event.name]
        if event.labels:
            series = series.labels(**dict(event.labels))
        try:
            getattr(series, METHODS[event.method])(*event.given)
        except ValueError:
            num_refused += 1
    return samples(generate_latest(registry).decode()) | {REFUSED: num_refused}


def _made(one: Measured, labels: Sequence[str], registry: CollectorRegistry) -> Any:  # noqa: ANN401 - one of three classes
    """Make what the client has for a family."""
    name, kind, about, bounds = one
    if kind == "histogram":
        return Histogram(name, about, labels, registry=registry, buckets=bounds)
    of_kind = Counter if kind == "counter" else Gauge
    return of_kind(name, about, labels, registry=registry)
