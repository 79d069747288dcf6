"""Requests that come by chance, and a server with our own door before it."""

import heapq
from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np

from tiny_llm_ref.fields import RefusedError
from tiny_llm_ref.limits import Admission

SEATS = 4
"""How many requests run at once."""

TAKES_S = 1.0
"""How long each of them runs, whoever it is."""

LASTS_S = 60
"""For how long requests come."""

RATES = (2, 3, 4, 5, 6, 8)
"""Requests in a second, on average."""

PLACES = {"4": 4, "8": 8, "16": 16, "64": 64, "none": 10**6}
"""The places of the door, by what the figure calls them."""

PATIENCE_S = 5
"""After which nobody waits for an answer any more."""


def arrivals(rate: int) -> list[float]:
    """Return when requests come: gaps are drawn by chance, and the same each time."""
    chance = np.random.default_rng(rate)
    gaps_s = chance.exponential(1 / rate, 4 * rate * LASTS_S)
    return [float(one) for one in np.cumsum(gaps_s) if one < LASTS_S]


def waits(comes_s: Sequence[float], max_open: int) -> list[float | None]:
    """Return how long each request waits for a seat. None is who was refused."""
    now_s = 0.0
    door = Admission(max_open, clock=lambda: now_s)
    free_at_s, ends_s = [0.0] * SEATS, deque[float]()
    found = list[float | None]()
    for come_s in comes_s:
        while ends_s and ends_s[0] <= come_s:
            now_s = ends_s.popleft()
            door.leave()
        now_s = come_s
        try:
            door.enter()
        except RefusedError:
            found.append(None)
            continue
        begin_s = max(come_s, free_at_s[0])
        heapq.heapreplace(free_at_s, begin_s + TAKES_S)
        ends_s.append(begin_s + TAKES_S)
        found.append(begin_s - come_s)
    return found


def summary(found: Sequence[float | None]) -> dict[str, float]:
    """Return how many were let in and refused, and how long those who are in wait."""
    inside = [one for one in found if one is not None]
    return {
        "answered": len(inside),
        "refused": len(found) - len(inside),
        "longest": max(inside),
        "mean": sum(inside) / len(inside),
        "in_time": sum(one + TAKES_S <= PATIENCE_S for one in inside),
    }


def queue_numbers() -> dict[str, Any]:
    """Return what the text says of a load that is too high, and of one that is not."""
    high = {
        name: summary(waits(arrivals(6), places)) for name, places in PLACES.items()
    }
    low, even = (summary(waits(arrivals(rate), PLACES["none"])) for rate in (3, 4))
    assert high["8"]["in_time"] > 2 * high["none"]["in_time"]
    assert high["8"]["longest"] <= TAKES_S
    assert low["longest"] < 2 * TAKES_S
    assert low["refused"] == 0
    assert even["mean"] > 2 * low["mean"]
    return {
        "seats": SEATS,
        "lasts": LASTS_S,
        "patience": PATIENCE_S,
        "came": len(arrivals(6)),
        "bounded": high["8"],
        "unbounded": high["none"],
        "low": low,
        "even": even,
    }


def figure_data() -> dict[str, Any]:
    """Return when requests come and how long each waits, by rate and places."""
    loads = {str(rate): arrivals(rate) for rate in RATES}
    return {
        "lasts": LASTS_S,
        "takes": TAKES_S,
        "patience": PATIENCE_S,
        "comes": {rate: _rounded(comes) for rate, comes in loads.items()},
        "waits": {
            rate: {
                name: _rounded(waits(comes, places)) for name, places in PLACES.items()
            }
            for rate, comes in loads.items()
        },
    }


def _rounded(times_s: Sequence[float | None]) -> list[float | None]:
    """Keep to milliseconds: the page carries all of them."""
    return [None if one is None else round(one, 3) for one in times_s]
