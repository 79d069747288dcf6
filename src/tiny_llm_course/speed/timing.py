"""Times kernels in turns: each in a program that calls it on request.

A machine that is busy slows down all of them alike. Where one thread does all the work,
its CPU time counts, which other programs change little. Where several do, it is the
clock on the wall in the round that was disturbed least.
"""

import random
import subprocess
from collections.abc import Callable, Hashable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from threading import Timer
from typing import TypeVar

ROUNDS, LEAST_ROUNDS = 9, 3
SAMPLE_NS = 1e6
"""A kernel is called so often in a row that a round takes this long."""

SHARE_NS = 60e6
"""What a kernel may take in all rounds together, once it has had the fewest."""

WAITING = 1.25
"""How much longer than its CPU time a call takes on a machine that is busy."""

LIMIT_S = 60
SEED = 0

Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True)
class Sample:
    """What one call took, in the order in which programs print it.

    Attributes:
        work: What it has to do: bytes or operations.
        touched: The bytes of its inputs and outputs.
        allocated: The bytes that it asked the heap for.
        wall_ns: Wall-clock time.
        cpu_ns: CPU time of all threads.
        own_ns: CPU time of the thread that called it.
    """

    work: float
    touched: float
    allocated: float
    wall_ns: float
    cpu_ns: float
    own_ns: float


@dataclass(frozen=True)
class Timing:
    """The samples of a kernel, round by round."""

    samples: tuple[Sample, ...]

    @property
    def is_alone(self) -> bool:
        """Whether one thread does all the work."""
        of_all = sum(one.cpu_ns for one in self.samples)
        return of_all <= 1.1 * sum(one.own_ns for one in self.samples)

    @property
    def time_ns(self) -> float:
        """The time of a call: the median of one thread, the best of several."""
        if self.is_alone:
            return median(one.own_ns for one in self.samples)
        return min(one.wall_ns for one in self.samples)

    @property
    def speed(self) -> float:
        """How much work is done, in billions per second."""
        return self.samples[0].work / self.time_ns

    @property
    def best_speed(self) -> float:
        """The speed of the fastest round."""
        alone = self.is_alone
        return max(
            one.work / (one.own_ns if alone else one.wall_ns) for one in self.samples
        )

    @property
    def is_disturbed(self) -> bool:
        """Whether one thread does all the work, and is kept waiting by others."""
        waits = median(one.wall_ns / one.own_ns for one in self.samples)
        return self.is_alone and waits > WAITING

    @property
    def copied(self) -> float:
        """How often its inputs and outputs would fit into what it allocates."""
        return min(one.allocated / one.touched for one in self.samples)


Step = Callable[[int], Sample | None]
"""Calls a kernel so often. None: it is a stub, or its program has ended."""


class Running(AbstractContextManager["Running"]):
    """A program that waits for requests to call kernels."""

    def __init__(self, program: Path) -> None:
        self._process = subprocess.Popen(
            [program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            errors="replace",
        )
        self._timer = Timer(LIMIT_S, self._process.kill)
        self._timer.start()

    def __exit__(self, *error: object) -> None:
        """End the program."""
        self._timer.cancel()
        self._process.kill()
        self._process.communicate()

    def call(self, kernel: str, count: int) -> Sample | None:
        """Call a kernel, as a `Step` does."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            print(kernel, count, file=self._process.stdin, flush=True)
        except BrokenPipeError:
            return None
        for line in self._process.stdout:  # a kernel may print, too
            _, said, numbers = line.rpartition("took ")
            if said:
                return Sample(*map(float, numbers.split()))
            if line.endswith("unsolved\n"):
                break
        return None


def in_turns(steps: Mapping[Key, Step]) -> dict[Key, Timing]:
    """Time each step once per round, in a new random order each time.

    Those that cannot be called are left out.
    """
    counts = {key: _count(step) for key, step in steps.items()}
    taken: dict[Key, list[Sample]] = {key: [] for key, count in counts.items() if count}
    order, rng = list(taken), random.Random(SEED)  # noqa: S311
    for _ in range(ROUNDS):
        rng.shuffle(order)
        for key in order:
            spent_ns = counts[key] * sum(one.wall_ns for one in taken[key])
            if len(taken[key]) < LEAST_ROUNDS or spent_ns < SHARE_NS:
                sample = steps[key](counts[key])
                taken[key] += [sample] if sample else []
    return {key: Timing(tuple(own)) for key, own in taken.items() if own}


def _count(step: Step) -> int:
    """Return how often to call a kernel in a round, after a first call. 0: never."""
    sample = step(1)
    if sample and sample.wall_ns < SAMPLE_NS:
        sample = step(1)  # the first call may have started threads
    return max(1, round(SAMPLE_NS / sample.wall_ns)) if sample else 0
