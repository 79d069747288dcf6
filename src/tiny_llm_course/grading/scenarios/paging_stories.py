"""Requests that come, compute and go in any order: stories that nobody has written.

They are drawn from seeds, so that each solution is asked the same.
"""

from dataclasses import dataclass
from random import Random

from tiny_llm_course.grading.scenarios.paging import (
    BrokenPromiseError,
    Desk,
    Kept,
    Service,
    comes,
    computes,
    leaves,
    returns,
    says,
    waits,
)
from tiny_llm_course.solution import Solution

NUM_STORIES = 240
"""Short ones come first, so that the first that goes wrong is short."""


@dataclass(frozen=True)
class AnyService(Service):
    """A manager that serves whatever is drawn."""

    def run(self, solution: Solution) -> Kept:
        """Return the first story that breaks a promise, or an empty one."""
        for seed in range(NUM_STORIES):
            desk = Desk(solution, *self.args, shares=self.shares)
            story = Story(desk, Random(seed))  # noqa: S311 - no secret
            try:
                for _ in range(4 + seed // 10):
                    story.go_on()
            except BrokenPromiseError as error:
                return desk.kept(str(error))
        return Kept(steps=(), complaint="")


class Story:
    """What happens at a desk.

    Where nothing is shared, no two prompts begin with the same token, so that there is
    nothing to share.

    Args:
        desk: Where it happens.
        rng: Draws what happens.
    """

    def __init__(self, desk: Desk, rng: Random) -> None:
        self._desk = desk
        self._rng = rng

    def go_on(self) -> None:
        """Let the next thing happen, if it can.

        Raises:
            BrokenPromiseError: Something does not hold then.
        """
        ways = [self.come, self.compute, self.say, self.leave, self.wait, self.return_]
        (way,) = self._rng.choices(ways, weights=(3, 4, 2, 2, 1, 1))
        way()

    def come(self) -> None:
        """Let a request come. Often its prompt is computed at once."""
        number = len(self._desk.requests)
        name, first = chr(ord("a") + number), [] if self._desk.shares else [number + 2]
        self._desk.do(comes(name, *first, *self._tokens(7)))
        if name in self._desk.here and self._rng.random() < 0.7:
            self._desk.do(computes(name, self._rng.randint(1, 8)))

    def compute(self) -> None:
        """Let the next tokens of a request be computed, where some are left."""
        requests = self._desk.requests
        unfinished = [one for one in self._desk.here if requests[one].num_uncomputed]
        if unfinished:
            name = self._rng.choice(unfinished)
            self._desk.do(computes(name, self._rng.randint(1, 8)))

    def say(self) -> None:
        """Let tokens of a request be chosen."""
        if self._desk.here:
            self._desk.do(says(self._rng.choice(self._desk.here), *self._tokens(5)))

    def leave(self) -> None:
        """Let a request end."""
        if self._desk.here:
            self._desk.do(leaves(self._rng.choice(self._desk.here)))

    def wait(self) -> None:
        """Let a request be preempted."""
        if self._desk.here:
            self._desk.do(waits(self._rng.choice(self._desk.here)))

    def return_(self) -> None:
        """Let a request come again that has no pages."""
        away = [name for name in self._desk.requests if name not in self._desk.here]
        if away:
            self._desk.do(returns(self._rng.choice(away)))

    def _tokens(self, most: int) -> list[int]:
        """Draw tokens of which there are only two, so that texts are often alike."""
        return self._rng.choices((0, 1), k=self._rng.randint(1, most))
