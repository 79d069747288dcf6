"""Times that can be compared: things take turns, so a busy machine slows them alike."""

import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median, quantiles

Step = Callable[[], object]
SEED = 0


@dataclass(frozen=True)
class Rounds:
    """How often each thing is timed: as often as fits into `budget_s`.

    Attributes:
        budget_s: For all things together.
        least: Whatever the budget. Two at least: quartiles need them.
        most: Whatever the budget.
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
    """What one thing took, round by round.

    Attributes:
        wall_s: On the clock.
        cpu_s: Of all cores together, threads that spin included.
    """

    wall_s: tuple[float, ...]
    cpu_s: tuple[float, ...]

    @property
    def spread(self) -> Spread:
        """Return the median of the rounds, in seconds on the clock."""
        return Spread.of(self.wall_s)

    @property
    def cores(self) -> float:
        """Return how many cores were at work, in the median round."""
        return median(
            cpu_s / wall_s
            for cpu_s, wall_s in zip(self.cpu_s, self.wall_s, strict=True)
        )

    def over(self, other: "Times") -> Spread:
        """Divide by the times of another thing, each by that of the same round."""
        pairs = zip(self.wall_s, other.wall_s, strict=True)
        return Spread.of([own_s / other_s for own_s, other_s in pairs])


def in_turns(steps: Mapping[str, Step], rounds: Rounds) -> dict[str, Times]:
    """Time each step once per round, in an order that is drawn anew for each.

    Nothing always comes after the same neighbour, whose traces in the caches it would
    find. Every step runs twice before, which counts for nothing: to be compiled, and
    to tell how long a round takes.
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
    """Return the seconds of one step: on the clock, and of all cores together."""
    start_s, cpu_start_s = time.perf_counter(), time.process_time()
    step()
    return time.perf_counter() - start_s, time.process_time() - cpu_start_s
