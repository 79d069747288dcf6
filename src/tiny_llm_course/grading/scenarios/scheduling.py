"""A scheduler that serves a load, with a model and a memory that count.

No tensor is computed: the model looks at the tokens that it was shown of a request, and
says the next one. So each choice of a scheduler can be judged, and none is expected.
"""

from dataclasses import dataclass, replace
from typing import Any

from tiny_llm_course.catalogue import say
from tiny_llm_course.grading.judgement.call import Call
from tiny_llm_course.grading.judgement.verdict import StepLimitError
from tiny_llm_course.grading.scenarios.loads import (
    END,
    SAID,
    Job,
    Served,
    Shown,
    Step,
)
from tiny_llm_course.grading.scenarios.room import Request, Room
from tiny_llm_course.solution import Solution

SCHEDULER = "scheduler.Scheduler"


@dataclass(frozen=True)
class Load(Call):
    """A scheduler that serves some requests until all have ended.

    Attributes:
        args: `max_num_seqs` and `max_num_batched_tokens`.
        jobs: The requests, in the order in which they come.
        num_places: How many tokens the memory holds. None is endless, and then the
            scheduler is given no memory.
        num_shared: How many tokens of each request the memory finds computed.
        num_found_again: How many of a request that it had before.
        is_quiet: Whether the model says None after a piece that is not the last.
    """

    jobs: tuple[Job, ...] = ()
    num_places: int | None = None
    num_shared: int = 0
    num_found_again: int = 0
    is_quiet: bool = False

    @property
    def by_name(self) -> dict[str, Job]:
        """The jobs under the names of their requests: a, b, c and so on."""
        return {chr(ord("a") + place): job for place, job in enumerate(self.jobs)}

    def run(self, solution: Solution) -> Served:
        """Serve the load, and return all that happened."""
        return _Service(self, solution).run()

    def __str__(self) -> str:
        """Write the scheduler, then each request in a line."""
        sizes = dict(zip(("seqs", "budget"), self.args, strict=True))
        key = "load" if self.num_places is None else "load_with_memory"
        lines = [say(f"{SAID}.{key}", **sizes, places=self.num_places)]
        for name, job in self.by_name.items():
            told = {"name": name, "prompt": job.num_prompt, "output": job.num_output}
            lines.append(say(f"{SAID}.job", **told, step=job.comes))
        return "\n".join(lines)


class _FaultError(Exception):
    """A piece that no model could compute. Its text is for the learner."""


class _Service:
    """The loop around a scheduler: requests come, steps are computed, requests leave.

    Attributes:
        here: Requests that have come and not ended, in the order in which they came.
    """

    def __init__(self, load: Load, solution: Solution) -> None:
        self.jobs, self.is_quiet = load.by_name, load.is_quiet
        self.room = Room(load.num_places, load.num_shared, load.num_found_again)
        memory = () if self.room.is_endless else (self.room,)
        self.scheduler = solution.get(load.symbol)(*load.args, *memory)
        self.requests = {
            name: _request(name, job, solution) for name, job in self.jobs.items()
        }
        self.here = list[str]()
        self.served = Served([], self.requests, {}, {}, self.room, [])

    def run(self) -> Served:
        """Take steps until all requests have come and ended."""
        last_comes = max(job.comes for job in self.jobs.values())
        num_tokens = sum(job.num_prompt + job.num_output for job in self.jobs.values())
        # Enough even if each step computes one token, and most are computed again.
        for number in range(last_comes + 4 * num_tokens):
            self._come_and_leave(number)
            if number >= last_comes and self.scheduler.is_finished():
                return self.served
            try:
                self._step(number)
            except _FaultError as error:
                return replace(self.served, fault=str(error))
        left = {"left": ", ".join(self.here), "num_steps": len(self.served.steps)}
        last = self.served.steps[-1]
        raise StepLimitError(say(f"{SAID}.no_end", **left, last=last))

    def _come_and_leave(self, number: int) -> None:
        """Add and abort the requests that come and leave before a step."""
        for name, job in self.jobs.items():
            if job.comes == number:
                self.here.append(name)
                self.scheduler.add(self.requests[name])
            if job.leaves == number:
                self._abort(name)

    def _abort(self, name: str, *reason: str) -> None:
        self.served.num_said[name] = len(self.requests[name].output)
        self.served.aborted[name] = self.scheduler.abort(name, *reason)
        self._forget(name)

    def _forget(self, name: str) -> None:
        """Note that a request has ended. From a `Room`, its scheduler takes it out."""
        if name in self.here:
            self.here.remove(name)
        if self.room.is_endless:
            self.room.held.pop(name, None)

    def _step(self, number: int) -> None:
        """Schedule, let the model compute, and tell the scheduler what it says."""
        pieces = self._scheduled(number)
        step = self.served.steps[-1]
        tokens = [self._said(one) for one in pieces]
        for name, job in self.jobs.items():
            if job.fails_in == number:
                self._abort(name, "error")
        ended = self.scheduler.postprocess(pieces, tokens)
        step.ended.extend(one.id for one in ended or ())
        for piece in step.pieces:
            noted = self.room.noted.get(piece.id)
            if piece.id not in self.served.aborted and noted != piece.stop:
                self.served.unnoted.append((piece, noted))
        for name in step.ended:
            self._forget(name)

    def _scheduled(self, number: int) -> list[Any]:
        """Schedule, and note what was there and what was chosen."""
        here, room, scheduler = self.here, self.room, self.scheduler
        ran = frozenset(name for name in here if name in room.held)
        before = (len(room.taken), len(room.freed), room.num_refusals)
        pieces = list(scheduler.schedule())
        waiting = list(scheduler.waiting)
        step = Step(
            number=number,
            present={name: self.requests[name].num_uncomputed for name in here},
            ran=ran,
            pieces=tuple(map(_shown, pieces)),
            running=tuple(one.id for one in scheduler.running),
            waiting=tuple(one.id for one in waiting),
            statuses={name: self.requests[name].status for name in here},
            num_said={name: len(self.requests[name].output) for name in here},
            admitted=tuple(room.taken[before[0] :]),
            preempted=tuple(room.freed[before[1] :]),
            num_refusals=room.num_refusals - before[2],
            has_room=bool(waiting) and room.can_allocate(waiting[0]),
        )
        self.served.steps.append(step)
        return pieces

    def _said(self, piece: Any) -> int | None:  # noqa: ANN401 - of the solution
        """Compute a piece, and return what the model says after it."""
        shown, step = _shown(piece), len(self.served.steps) - 1
        names = {"name": shown.id, "step": step, "first": shown.first}
        held = self.room.held.setdefault(shown.id, [])
        if len(held) != shown.first:
            raise _FaultError(say(f"{SAID}.wrong_first", **names, held=len(held)))
        if not 0 < shown.num_tokens <= shown.num_uncomputed:
            told = {"number": shown.num_tokens, "left": shown.num_uncomputed}
            raise _FaultError(say(f"{SAID}.wrong_length", **names, **told))
        places = self.room.places.get(shown.id, 0)
        if not self.room.is_endless and shown.stop > places:
            told = {"stop": shown.stop, "places": places}
            raise _FaultError(say(f"{SAID}.no_place", **names, **told))
        held += piece.request.tokens[shown.first : shown.stop]
        if self.is_quiet and shown.num_tokens < shown.num_uncomputed:
            return None
        return self.jobs[shown.id].next_token(held)


def _shown(piece: Any) -> Shown:  # noqa: ANN401 - of the solution
    """Note a piece as it is now: its request is going to change."""
    request = piece.request
    sizes = (piece.num_tokens, request.num_computed, request.num_uncomputed)
    return Shown(request.id, *sizes)


def _request(name: str, job: Job, solution: Solution) -> Request:
    """Make the request of a job, of the class that comes with the solution."""
    params = solution.get("request.SamplingParams")(
        max_tokens=job.num_output, ignore_end=job.ignores_end
    )
    return solution.get("request.Request")(name, job.prompt, params, frozenset({END}))
