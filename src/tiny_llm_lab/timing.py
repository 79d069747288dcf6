"""Comparable timings: steps are interleaved, so a busy machine slows all alike."""

import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median, quantiles

Step = Callable[[], object]
SEED = 0


@dataclass(frozen=True)
class Rounds:
    """The number of timing rounds: as many as fit into `budget_s`.

    Attributes:
        budget_s: The time for all steps together.
        least: The minimum whatever the budget. At least two, for the quartiles.
        most: The maximum whatever the budget.
    """

    budget_s: float
    least: int
    most: int

    def number(self, round_s: float) -> int:
        """Return how many rounds there are, if one takes `round_s`."""
        fitting = int(self.budget_s / max(round_s, 1e-9))
        return min(max(fitting, self.least), self.most)


@dataclass(frozen=True)
class Spread:
    """A median between its quartiles: half of the values lie from `low` to `high`."""

    low: float
    middle: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "Spread":
        """Find the quartiles of two values or more."""
        return cls(*quantiles(values, n=4, method="inclusive"))


@dataclass(frozen=True)
class Times:
    """The times of one step, round by round.

    Attributes:
        wall_s: Wall-clock time.
        cpu_s: CPU time of all cores, including threads that spin.
    """

    wall_s: tuple[float, ...]
    cpu_s: tuple[float, ...]

    @property
    def spread(self) -> Spread:
        """Return the median of the rounds, in seconds on the clock."""
        return Spread.of(self.wall_s)

    @property
    def cores(self) -> float:
        """Return the number of busy cores, in the median round."""
        return median(
            cpu_s / wall_s
            for cpu_s, wall_s in zip(self.cpu_s, self.wall_s, strict=True)
        )

    def over(self, other: "Times") -> Spread:
        """Divide by the times of another step, round by round."""
        pairs = zip(self.wall_s, other.wall_s, strict=True)
        return Spread.of([own_s / other_s for own_s, other_s in pairs])


def in_turns(steps: Mapping[str, Step], rounds: Rounds) -> dict[str, Times]:
    """Time each step once per round, in a new random order each time.

    So no step always follows the same one, which would affect it through the caches.
    Every step first runs twice untimed: to be compiled, and to estimate the length of a
    round.
    """
    for step in steps.values():
        step()
    round_s = sum(_timed(step)[0] for step in steps.values())
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in steps}
    order = list(steps)
    rng = random.Random(SEED)  # noqa: S311
    for _ in range(rounds.number(round_s)):
        rng.shuffle(order)
        for name in order:
            taken[name].append(_timed(steps[name]))
    return {name: Times(*zip(*pairs, strict=True)) for name, pairs in taken.items()}


def _timed(step: Step) -> tuple[float, float]:
    """Return the seconds of one step: wall-clock, and CPU time of all cores."""
    start_s, cpu_start_s = time.perf_counter(), time.process_time()
    step()
    return time.perf_counter() - start_s, time.process_time() - cpu_start_s
