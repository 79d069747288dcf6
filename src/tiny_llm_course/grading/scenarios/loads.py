"""What a scheduler is given to serve, and what is noted of it."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tiny_llm_course.catalogue import say
from tiny_llm_course.grading.scenarios.room import Request, Room

SAID = "week_3_day_2.complaints"

END = 0
"""The token that ends an answer. No other token is 0."""


@dataclass(frozen=True)
class Job:
    """A request, and how it goes on.

    Attributes:
        num_prompt: How many tokens its prompt has.
        num_output: The most tokens that it wants.
        comes: The step before which it is added.
        ends: After how many tokens the model says the end token. None is never.
        ignores_end: Whether it goes on all the same.
        leaves: The step before which it is aborted.
        fails_in: The step in which the model cannot compute it, so that it is aborted
            before the others go on.
    """

    num_prompt: int
    num_output: int
    comes: int = 0
    ends: int | None = None
    ignores_end: bool = False
    leaves: int | None = None
    fails_in: int | None = None

    @property
    def prompt(self) -> list[int]:
        """Its tokens: other ones for each length."""
        first = 7 * self.num_prompt
        return [1 + (first + 3 * place) % 89 for place in range(self.num_prompt)]

    @property
    def answer(self) -> list[int]:
        """What it gets if nobody else is there."""
        output = list[int]()
        while len(output) < self.num_output:
            token = self.next_token(self.prompt + output)
            if token == END and not self.ignores_end:
                break
            output.append(token)
        return output

    @property
    def reason(self) -> str:
        """Why it ends then, or when it leaves."""
        if self.leaves is not None or self.fails_in is not None:
            return "abort" if self.fails_in is None else "error"
        return "length" if len(self.answer) == self.num_output else "stop"

    def next_token(self, shown: Sequence[int]) -> int:
        """Return what the model says after some tokens of the prompt and the answer."""
        if self.ends is not None and len(shown) - self.num_prompt == self.ends:
            return END
        return 1 + functools.reduce(lambda old, new: (31 * old + new) % 89, shown, 5)


@dataclass(frozen=True)
class Shown:
    """A piece as it was scheduled.

    Attributes:
        id: Of its request.
        num_tokens: How many it has.
        first: How many tokens of the request were computed.
        num_uncomputed: How many were not.
    """

    id: str
    num_tokens: int
    first: int
    num_uncomputed: int

    @property
    def stop(self) -> int:
        """How many tokens of the request are computed after it."""
        return self.first + self.num_tokens

    def __str__(self) -> str:
        """Write whose it is, and how long."""
        return f"{self.id} {self.num_tokens}"


@dataclass(frozen=True)
class Step:
    """What was there in a step, and what was chosen.

    Attributes:
        number: How many steps came before.
        present: Requests that had come and not ended, in the order in which they came,
            and how many tokens each has left to compute.
        ran: Those of them that had something in memory.
        pieces: What was scheduled.
        running: What `running` held then.
        waiting: What `waiting` held.
        statuses: What each request said of itself.
        num_said: How many tokens the answer of each had.
        admitted: Those that were given room in the memory.
        preempted: Those that gave it back.
        num_refusals: How often memory was refused.
        has_room: Whether the first that still waits would have fitted.
        ended: Those that `postprocess` returned.
    """

    number: int
    present: dict[str, int]
    ran: frozenset[str]
    pieces: tuple[Shown, ...]
    running: tuple[str, ...]
    waiting: tuple[str, ...]
    statuses: dict[str, str]
    num_said: dict[str, int]
    admitted: tuple[str, ...]
    preempted: tuple[str, ...]
    num_refusals: int
    has_room: bool
    ended: list[str] = field(default_factory=list[str])

    @property
    def num_tokens(self) -> int:
        """How many tokens it computes."""
        return sum(piece.num_tokens for piece in self.pieces)

    @property
    def runs(self) -> list[str]:
        """Those that have something in memory when it computes."""
        given = {piece.id for piece in self.pieces}
        stayed = self.ran - {*self.preempted}
        return [name for name in self.present if name in given | stayed]

    def given(self, name: str) -> int:
        """Return how many tokens it computes of a request."""
        return sum(piece.num_tokens for piece in self.pieces if piece.id == name)

    def __str__(self) -> str:
        """Write who computes how much."""
        return ", ".join(map(str, self.pieces)) or say(f"{SAID}.nobody")


@dataclass(frozen=True)
class Served:
    """What has become of a load.

    Attributes:
        steps: All steps, in order.
        requests: The requests, by their names.
        aborted: What `abort` returned, by the names of those that left.
        num_said: How many tokens the answers of these had then.
        room: What they took their memory from.
        unnoted: Pieces after which `hash_blocks` was not called, and what the last call
            had said of their request.
        fault: Why a piece could not be computed, and nothing came after. May be empty.
    """

    steps: list[Step]
    requests: dict[str, Request]
    aborted: dict[str, Any]
    num_said: dict[str, int]
    room: Room
    unnoted: list[tuple[Shown, int | None]]
    fault: str = ""
