"""Who computes what in the next step, when many requests share one model."""

from collections import deque
from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from tiny_llm_course import todo

from .request import FinishReason, Piece, Request


@runtime_checkable  # so that annotations can be checked while tests run
class Memory(Protocol):
    """The room for keys and values that all requests share."""

    def can_allocate(self, request: Request) -> bool:
        """Tell whether there is room for all tokens that a waiting request has."""
        ...

    def allocate(self, request: Request) -> None:
        """Take this room. Where keys are found that fit, `num_computed` counts them."""
        ...

    def may_append(self, request: Request, num_tokens: int) -> bool:
        """Make sure that there is room for so many tokens after `num_computed`.

        Returns:
            Whether there is now. If not, nothing was taken.
        """
        ...

    def deallocate(self, request: Request) -> None:
        """Give back all that a request has taken."""
        ...

    def hash_blocks(self, request: Request) -> None:
        """Note that keys and values are there up to `num_computed`."""
        ...


class Scheduler:
    """Fill each step of the model with tokens of several requests.

    A step computes at most `max_num_batched_tokens` tokens. Requests that run come
    first, in the order in which they arrived: one that generates needs a single token,
    one whose prompt is not computed yet takes what is left, a piece of the prompt. What
    they all leave admits requests that wait, first come, first served.

    Where memory is short, the last request that came is preempted: it gives its memory
    back, and waits in front of all others. Its output is kept, and computed again
    together with its prompt. Who was there first always goes on.

    Attributes:
        running: Requests that have memory, in the order of their arrival.
        waiting: Requests that have none, in the same order. All came after those that
            run.

    Args:
        max_num_seqs: The most requests that run at once.
        max_num_batched_tokens: The most tokens of a step, all requests together.
        memory: What keys and values take their room from. None is endless.

    Raises:
        ValueError: No request may run, or a step has fewer tokens than requests may
            run: one of those that generate would be left out.
    """

    def __init__(
        self,
        max_num_seqs: int,
        max_num_batched_tokens: int,
        memory: Memory | None = None,
    ) -> None:
        todo("week 3, day 2, task 1")

    def add(self, request: Request) -> None:
        """Let a request wait, behind all that came before.

        Args:
            request: Whoever adds it makes sure that its tokens fit into the memory
                when it is alone: none can be preempted for it then.
        """
        todo("week 3, day 2, task 1")

    def is_finished(self) -> bool:
        """Tell whether there is nothing left to do."""
        todo("week 3, day 2, task 1")

    def schedule(self) -> list[Piece]:
        """Choose the tokens of the next step.

        Where memory is asked, the first request that arrived is asked for first. While
        it is refused, the last one that runs is preempted, which may be the one that
        asks. In a step that preempts, none is admitted: it would take the room that
        was just made.

        Returns:
            One piece of each request that takes part.

        Raises:
            MemoryError: Nobody runs, and there is no room for the first that waits.
        """
        todo("week 3, day 2, task 1")

    def postprocess(
        self, pieces: Sequence[Piece], tokens: Sequence[int | None]
    ) -> list[Request]:
        """Note what a step has computed, and end the requests that have enough.

        A request ends with "stop" at one of its `end_ids`, which is no part of the
        output, unless its parameters say `ignore_end`; and with "length" at
        `max_tokens` tokens. It gives its memory back.

        Args:
            pieces: What `schedule` chose. A request that was aborted since is left
                alone.
            tokens: The token that was chosen after each piece. What stands beside a
                piece that is not the last one of its request is ignored.

        Returns:
            The requests that have ended.
        """
        todo("week 3, day 2, task 1")

    def abort(self, id: str, reason: FinishReason = "abort") -> bool:  # noqa: A002 - as in Request
        """End a request that waits or runs, and give its memory back.

        Args:
            id: Of the request.
            reason: What its `finish_reason` says then.

        Returns:
            Whether there was one. It may have ended already.
        """
        todo("week 3, day 2, task 1")
