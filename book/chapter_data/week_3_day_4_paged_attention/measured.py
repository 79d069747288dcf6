"""What the lab has measured: read from `book/results`."""

from tiny_llm_lab import measured
from tiny_llm_lab.experiments import paged_times
from tiny_llm_lab.experiments.paged_times import GATHERED, ONE_PLACE, PAGED, Work

WORK = {
    "rows": paged_times.DECODING,
    "long": paged_times.LONG,
    "piece": paged_times.PIECE,
    "small": paged_times.SMALL_PAGES,
    "large": paged_times.LARGE_PAGES,
}

TRUE_OF = {
    "rows": (0.8, 1.6),
    "long": (0.9, 1.7),
    "piece": (0.8, 1.3),
    "small": (1.2, 2),
    "large": (0.8, 1.25),
}
"""The least and the most times as long as in one place for which the prose is true."""


def times() -> dict[str, dict[str, float]]:
    """Return the microseconds of each way, and how they compare."""
    return {name: _compared(name, work) for name, work in WORK.items()}


def _compared(name: str, work: Work) -> dict[str, float]:
    us = measured.paged_us(work)
    found = {
        "one": us[ONE_PLACE],
        "gathered": us[GATHERED],
        "paged": us[PAGED],
        "page_size": work.page_size,
        "ratio": us[PAGED] / us[ONE_PLACE],
        "gathered_ratio": us[GATHERED] / us[ONE_PLACE],
    }
    least, most = TRUE_OF[name]
    ratio = found["ratio"]
    assert least < ratio < most, f"{name}: {ratio:.2f}; change the prose, or measure"
    return found
