"""A gate and counters that remember what a server asks them and tells them."""

from dataclasses import dataclass, field
from typing import Any

from tiny_llm_course.solution import Solution

AGAIN_S = 2.5
"""When there is a place again, as a gate has it that keeps the mean time."""


@dataclass
class NotedGate:
    """Lets requests in while it has places.

    Attributes:
        solution: Whose error it raises.
        places: How many requests may be in at once.
        num_open: How many are.
    """

    solution: Solution
    places: int
    num_open: int = 0

    def enter(self, num_requests: int = 1) -> None:
        """Let all of them in, or none."""
        if self.num_open + num_requests > self.places:
            refused = self.solution.get("fields.RefusedError")
            raise refused("full", status=429, code="queue_full", retry_after_s=AGAIN_S)
        self.num_open += num_requests

    def leave(self, num_requests: int = 1) -> None:
        """Take their places back."""
        self.num_open -= num_requests


@dataclass
class Tally:
    """Remembers what it is told of requests.

    Attributes:
        open: The ids of those that have started, and not ended.
        tokens: What the engine gave, to all of them.
        reasons: Why they ended.
    """

    open: list[str] = field(default_factory=list[str])
    tokens: list[int | None] = field(default_factory=list[int | None])
    reasons: list[str] = field(default_factory=list[str])

    def started(self, id: str) -> None:  # noqa: A002 - as in Request
        """Begin to count a request."""
        self.open.append(id)

    def observed(self, output: Any) -> None:  # noqa: ANN401 - of the solution
        """Remember a token."""
        self.tokens.append(output.token)

    def ended(self, id: str, reason: str) -> None:  # noqa: A002 - as in Request
        """Count the end of a request that has started."""
        self.open.remove(id)
        self.reasons.append(reason)

    def text(self) -> str:
        """Return a number, in the format of Prometheus."""
        return f"answers_total {len(self.reasons)}\n"
