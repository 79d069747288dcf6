"""What the lab has measured: read from `book/results`."""

from typing import Any

from tiny_llm_course.places import RESULTS
from tiny_llm_lab.experiments import kernel_times

WAYS = {"week 1": "plain", "mx.fast": "mlx", "mx.compile": "mlx", "kernel": "own"}


def times_us() -> dict[str, Any]:
    """Return the microseconds of each way to do what stands between the products.

    `all` is what the parts of a layer take in the way of Week 1.
    """
    rows = kernel_times.LAB.kept(RESULTS).read()
    parts = {
        "norm": kernel_times.NORM,
        "sum_and_norm": kernel_times.SUM_AND_NORM,
        "rotation": kernel_times.ROTATION,
        "gate": kernel_times.GATE,
    }
    found: dict[str, Any] = {
        name: {
            WAYS[way]: time_us
            for way, time_us in kernel_times.times_us(rows, work).items()
        }
        for name, work in parts.items()
    }
    found["addition"] = kernel_times.times_us(rows, kernel_times.ADDITION)["mx.add"]
    twice = (found["norm"]["plain"], found["rotation"]["plain"], found["addition"])
    found["all"] = 2 * sum(twice) + found["gate"]["plain"]
    return found
