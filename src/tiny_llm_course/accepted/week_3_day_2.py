"""Week 3, day 2: other right schedulers."""

from collections import deque
from collections.abc import Sequence
from typing import Any

from tiny_llm_course.specimens import specimen
from tiny_llm_ref.request import Piece, Request

SCHEDULER = "scheduler.Scheduler"

Memory = Any
"""What a scheduler asks for room, or None."""


@specimen(1, 2, symbol=SCHEDULER)
class one_line_of_requests:
    """All requests in one list, of which the first ones run."""

    def __init__(
        self, max_num_seqs: int, max_num_batched_tokens: int, memory: Memory = None
    ) -> None:
        self.limits = max_num_seqs, max_num_batched_tokens
        self.memory = memory
        self.line: list[Request] = []
        self.num_running = 0

    @property
    def running(self) -> list[Request]:
        return self.line[: self.num_running]

    @property
    def waiting(self) -> deque[Request]:
        return deque(self.line[self.num_running :])

    def add(self, request: Request) -> None:
        self.line += [request]

    def is_finished(self) -> bool:
        return not self.line

    def schedule(self) -> list[Piece]:
        num_seqs, left = self.limits
        pieces, preempts = list[Piece](), False
        for place, request in enumerate(self.line):
            is_new = place >= self.num_running
            if is_new and (preempts or not self._admits(request, num_seqs, left)):
                break
            number = min(left, len(request.tokens) - request.num_computed)
            while place < self.num_running and not self._fits(request, number):
                self._preempt()
                preempts = True
            if place < self.num_running:
                pieces.append(Piece(request, number))
                left -= number
        return pieces

    def _admits(self, request: Request, num_seqs: int, left: int) -> bool:
        if left == 0 or self.num_running == num_seqs:
            return False
        if self.memory is not None:
            if not self.memory.can_allocate(request):
                return False
            self.memory.allocate(request)
        self.num_running += 1
        request.status = "running"
        return True

    def _fits(self, request: Request, number: int) -> bool:
        return self.memory is None or self.memory.may_append(request, number)

    def _preempt(self) -> None:
        self.num_running -= 1
        request = self.line[self.num_running]
        request.status, request.num_computed = "waiting", 0
        self.memory.deallocate(request)

    def postprocess(
        self, pieces: Sequence[Piece], tokens: Sequence[int | None]
    ) -> list[Request]:
        ended: list[Request] = []
        for piece, token in zip(pieces, tokens, strict=True):
            request = piece.request
            if request not in self.line:
                continue
            request.num_computed += piece.num_tokens
            if self.memory is not None:
                self.memory.hash_blocks(request)
            if request.num_uncomputed or token is None:
                continue
            is_end = token in request.end_ids and not request.params.ignore_end
            if not is_end:
                request.output.append(token)
            if is_end or len(request.output) == request.params.max_tokens:
                self._remove(request, "stop" if is_end else "length")
                ended.append(request)
        return ended

    def abort(self, id: str, reason: str = "abort") -> bool:  # noqa: A002 - as in Request
        found = [request for request in self.line if request.id == id]
        for request in found:
            self._remove(request, reason)
        return bool(found)

    def _remove(self, request: Request, reason: Any) -> None:  # noqa: ANN401
        if self.line.index(request) < self.num_running:
            self.num_running -= 1
            if self.memory is not None:
                self.memory.deallocate(request)
        self.line.remove(request)
        request.status, request.finish_reason = "finished", reason
