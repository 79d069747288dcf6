"""How fast a kernel is: the level that it has reached, and the next one."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tiny_llm_course.speed.races import Race
from tiny_llm_course.speed.timing import Timing
from tiny_llm_course.syllabus import Task

AT_THE_LIMIT = 0.8
"""The share of what memory or arithmetic gives that counts as all of it."""

AS_FAST = 0.85
"""The share of our speed that counts as being as fast as ours."""


@dataclass(frozen=True)
class Verdict:
    """How fast a learner's kernel is.

    Attributes:
        task: What it is written for.
        race: What it was timed beside.
        yours: Its own timing.
        ours: That of each rung.
        limit: What the machine gives.
        causes: Why it is not faster, in sentences.
    """

    task: Task
    race: Race
    yours: Timing
    ours: Mapping[str, Timing]
    limit: Timing
    causes: tuple[str, ...] = ()

    @property
    def level(self) -> int:
        """The index of the rung that is nearest to it.

        On a busy machine, several threads may be no faster than one. Then that there
        are several decides.
        """
        found = level_of(self.yours, [self.ours[one] for one in self.race.rungs])
        last = len(self.race.rungs) - 1
        has_threads = self.race.adds_only_threads and not self.yours.is_alone
        is_held_back = has_threads and self.is_disturbed and found == last - 1
        return last if is_held_back else found

    @property
    def limit_speed(self) -> float:
        """What the machine gives: in the best round, or to a kernel."""
        kernels = (self.yours, *self.ours.values())
        return max(self.limit.best_speed, *(one.speed for one in kernels))

    @property
    def is_at_the_limit(self) -> bool:
        """Whether it is as fast as the machine."""
        return self.yours.speed >= AT_THE_LIMIT * self.limit_speed

    @property
    def share_of_ours(self) -> float:
        """How fast it is, in parts of our solution of the task."""
        return self.yours.speed / self.ours[self.race.kernel].speed

    @property
    def is_disturbed(self) -> bool:
        """Whether a busy machine makes threads look slower than they are."""
        timings = (self.yours, self.limit, *self.ours.values())
        return self.race.is_on_all_cores and any(one.is_disturbed for one in timings)

    @property
    def next_rung(self) -> str | None:
        """The next level of the task. None if there is none."""
        later = self.race.rungs[self.level + 1 :]
        return later[0] if later and not self.is_at_the_limit else None


def level_of(yours: Timing, rungs: Sequence[Timing]) -> int:
    """Return which rung is nearest, by the ratio of times; of two, the later one."""

    def distance(index: int) -> tuple[float, int]:
        return abs(math.log(yours.time_ns / rungs[index].time_ns)), -index

    fastest = min(one.time_ns for one in rungs)
    if yours.time_ns <= fastest:
        return len(rungs) - 1
    return min(range(len(rungs)), key=distance)
