"""What the server asks before it answers, and what it tells. This file is given.

Day 7 builds a gate that turns clients away under load, and counters for a dashboard.
Until then everybody comes in, and one number is enough.
"""

from typing import Protocol, runtime_checkable

from .request import FinishReason, Output


@runtime_checkable
class Gate(Protocol):
    """Decides who may come in."""

    def enter(self, num_requests: int) -> None:
        """Let so many requests in, or raise a `RefusedError` and let none in."""

    def leave(self, num_requests: int) -> None:
        """Let so many out that were let in, however they ended."""


@runtime_checkable
class Counters(Protocol):
    """Count what happens to the requests that were let in."""

    def started(self, id: str) -> None:  # noqa: A002 - as in Request
        """Begin to count a request."""

    def observed(self, output: Output) -> None:
        """Look at what the engine gave."""

    def ended(self, id: str, reason: FinishReason) -> None:  # noqa: A002
        """Count the end of a request that has started: once for each."""

    def text(self) -> str:
        """Return all numbers, in the format of Prometheus."""
        ...


class OpenGate:
    """Lets everybody in."""

    def enter(self, num_requests: int) -> None:
        """Let them in."""

    def leave(self, num_requests: int) -> None:
        """Let them out."""


class RequestCount:
    """Counts how many requests there are now."""

    def __init__(self) -> None:
        self._number = 0

    def started(self, id: str) -> None:  # noqa: A002 - as in Request
        """One more."""
        del id
        self._number += 1

    def observed(self, output: Output) -> None:
        """Take no notice."""

    def ended(self, id: str, reason: FinishReason) -> None:  # noqa: A002
        """One less."""
        del id, reason
        self._number -= 1

    def text(self) -> str:
        """Return the number, in the format of Prometheus."""
        name = "tiny_llm_requests_running_or_waiting"
        told = f"# HELP {name} Requests that have not ended.\n# TYPE {name} gauge\n"
        return f"{told}{name} {self._number}\n"
