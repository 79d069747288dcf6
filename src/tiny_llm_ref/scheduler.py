"""Who computes what in the next step, when many requests share one model."""

from collections import deque
from collections.abc import Sequence
from typing import Protocol, runtime_checkable

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
        if not 1 <= max_num_seqs <= max_num_batched_tokens:
            raise ValueError(
                "Scheduler: expected max_num_seqs from 1 to max_num_batched_tokens, "
                f"got {max_num_seqs} and {max_num_batched_tokens}"
            )
        self.running = list[Request]()
        self.waiting = deque[Request]()
        self._max_num_seqs = max_num_seqs
        self._max_num_batched_tokens = max_num_batched_tokens
        self._memory = _EndlessMemory() if memory is None else memory

    def add(self, request: Request) -> None:
        """Let a request wait, behind all that came before.

        Args:
            request: Whoever adds it makes sure that its tokens fit into the memory
                when it is alone: none can be preempted for it then.
        """
        self.waiting.append(request)

    def is_finished(self) -> bool:
        """Tell whether there is nothing left to do."""
        return not self.running and not self.waiting

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
        num_running = len(self.running)
        pieces = self._continue()
        if len(self.running) == num_running:
            pieces += self._admit(num_tokens_beside=sum(p.num_tokens for p in pieces))
        if self.waiting and not self.running:
            raise MemoryError(
                f"Scheduler: expected room for the {len(self.waiting[0].tokens)} "
                f"tokens of {self.waiting[0].id!r} alone, got less; refuse such a "
                "request before it is added"
            )
        return pieces

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
        ended = list[Request]()
        for piece, token in zip(pieces, tokens, strict=True):
            request = piece.request
            if request.status != "running":
                continue
            is_last = piece.is_last  # of the tokens that it had before this one
            request.num_computed += piece.num_tokens
            self._memory.hash_blocks(request)
            reason = _take(token, request) if is_last and token is not None else None
            if reason:
                self._end(request, reason)
                ended.append(request)
        return ended

    def abort(self, id: str, reason: FinishReason = "abort") -> bool:  # noqa: A002 - as in Request
        """End a request that waits or runs, and give its memory back.

        Args:
            id: Of the request.
            reason: What its `finish_reason` says then.

        Returns:
            Whether there was one. It may have ended already.
        """
        for request in (*self.running, *self.waiting):
            if request.id == id:
                self._end(request, reason)
                return True
        return False

    def _continue(self) -> list[Piece]:
        """Choose tokens of those that run, and preempt until there is room for them."""
        pieces = list[Piece]()
        num_tokens_left = self._max_num_batched_tokens
        # The last that runs may go while the loop goes on, but none that had its turn.
        while len(pieces) < len(self.running):
            request = self.running[len(pieces)]
            num_tokens = min(request.num_uncomputed, num_tokens_left)
            if self._memory.may_append(request, num_tokens):
                pieces.append(Piece(request, num_tokens))
                num_tokens_left -= num_tokens
            else:
                self._preempt_last()
        return pieces

    def _admit(self, num_tokens_beside: int) -> list[Piece]:
        """Choose tokens of those that wait, beside those chosen, and let them run."""
        pieces = list[Piece]()
        num_tokens_left = self._max_num_batched_tokens - num_tokens_beside
        while (
            num_tokens_left > 0
            and self.waiting
            and len(self.running) < self._max_num_seqs
            and self._memory.can_allocate(self.waiting[0])
        ):
            request = self.waiting.popleft()
            self._memory.allocate(request)
            request.status = "running"
            self.running.append(request)
            num_tokens = min(request.num_uncomputed, num_tokens_left)
            pieces.append(Piece(request, num_tokens))
            num_tokens_left -= num_tokens
        return pieces

    def _preempt_last(self) -> None:
        """Let the last request that came wait again, in front of all others."""
        request = self.running.pop()
        self._memory.deallocate(request)
        request.num_computed = 0
        request.status = "waiting"
        self.waiting.appendleft(request)

    def _end(self, request: Request, reason: FinishReason) -> None:
        """Take a request out of its place. Only one that runs has memory."""
        if request.status == "running":
            self.running.remove(request)
            self._memory.deallocate(request)
        else:
            self.waiting.remove(request)
        request.status = "finished"
        request.finish_reason = reason


class _EndlessMemory:
    """Room for everything, where nothing has to be kept in mind."""

    def can_allocate(self, request: Request) -> bool:
        del request
        return True

    def allocate(self, request: Request) -> None:
        del request

    def may_append(self, request: Request, num_tokens: int) -> bool:
        del request, num_tokens
        return True

    def deallocate(self, request: Request) -> None:
        del request

    def hash_blocks(self, request: Request) -> None:
        del request


def _take(token: int, request: Request) -> FinishReason | None:
    """Append a token to the output, unless it is the end. Tell why to stop, if so."""
    if token in request.end_ids and not request.params.ignore_end:
        return "stop"
    request.output.append(token)
    return "length" if len(request.output) >= request.params.max_tokens else None
