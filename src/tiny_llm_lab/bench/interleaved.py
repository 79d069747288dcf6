"""Interleaves the engines, so that other load on the machine affects all alike."""

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from tiny_llm_course.catalogue import say
from tiny_llm_course.errors import CourseError
from tiny_llm_lab.bench.engines import Kind, MissingError, Stored
from tiny_llm_lab.wording import cell, worded

NUM_THREADS = 2

FOR_S = 0.5
"""The length of a turn: how long a case takes steps before the next one's turn."""

AGAIN_S = 5.0
"""A first step that takes longer is not followed by another to warm up."""

SLOW_S = 10.0
"""If warming up takes longer, its steps count as measurements."""

BUDGET_S = 10.0
"""A case that has used this much time gets no further turn."""

LONGEST_S = 60.0
"""A case is left out if a single step would take longer."""

Show = Callable[[int, int, str], None]
Skip = Callable[[str], None]


def environment(kind: Kind) -> dict[str, str]:
    """Return the environment variables that set an engine's threads and kernels."""
    threads = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
    blas = {"TINY_LLM_BLAS": "off"} if kind.has_own_blas else {}
    kernels = {"TINY_LLM_KERNELS": kind.kernels}
    return {name: str(NUM_THREADS) for name in threads} | blas | kernels


class Measures(Protocol):
    """An engine in its process."""

    def measure(self, work: str, tokens: int, for_s: float) -> list[float]:
        """Return the seconds of some steps."""
        ...


@dataclass
class Case:
    """One kind of work of one engine, with the times so far.

    Attributes:
        kind: The engine.
        model: The model's weights.
        work: "prefill" or "generate", or what else the engine does.
        tokens: Length of the prompt, or of the context.
        steps_s: Seconds of each step.
        spent_s: Seconds of all steps, including warm-up.
        first_s: Seconds of the last warm-up step. None if there was none.
    """

    kind: Kind
    model: str
    work: str
    tokens: int
    steps_s: list[float] = field(default_factory=list[float])
    spent_s: float = 0.0
    first_s: float | None = None

    def __str__(self) -> str:
        """Describe the case for the progress line."""
        work = worded("bench", self.work)
        return f"{cell(self.model)}: {self.kind.key}, {work} {self.tokens}"

    def warm_up(self, worker: Measures) -> None:
        """Take a step, or two if the first is short. They count only if they are long.

        The first step may load code and weights, so it can be slower than the others.
        """
        steps_s = worker.measure(self.work, self.tokens, 0.0)
        if steps_s[0] < AGAIN_S:
            steps_s += worker.measure(self.work, self.tokens, 0.0)
        self.first_s = steps_s[-1]
        self.spent_s += sum(steps_s)
        if self.spent_s > SLOW_S:
            self.steps_s += steps_s

    def take_turn(self, worker: Measures, for_s: float) -> None:
        """Take steps, if this case has time left."""
        if self.spent_s > BUDGET_S:
            return
        steps_s = worker.measure(self.work, self.tokens, for_s)
        self.spent_s += sum(steps_s)
        self.steps_s += steps_s


@dataclass(frozen=True)
class Worker:
    """The process of one engine.

    Attributes:
        kind: The engine.
        process: Where it runs.
        stored: How it stores the model.
    """

    kind: Kind
    process: subprocess.Popen[str]
    stored: Stored

    def measure(self, work: str, tokens: int, for_s: float) -> list[float]:
        """Return the seconds of some steps.

        Raises:
            CourseError: The process has ended.
        """
        request = {"work": work, "tokens": tokens, "for_s": for_s}
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            print(json.dumps(request), file=self.process.stdin, flush=True)
        return json.loads(_answer(self.process, self.kind))


@contextlib.contextmanager
def started(kind: Kind, model: str, solution: str) -> Generator[Worker]:
    """Start the process of an engine, and end it on leaving the `with` block.

    Raises:
        MissingError: The engine is missing.
        CourseError: It does not start.
    """
    module = "tiny_llm_lab.bench.worker"
    arguments = [kind.module, kind.option, model, solution]
    with subprocess.Popen(
        [sys.executable, "-m", module, *arguments],
        env={**os.environ, **environment(kind)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    ) as process:
        try:
            said = json.loads(_answer(process, kind))
            if "missing" in said:
                raise MissingError(said["missing"])
            yield Worker(kind, process, Stored(**said))
        finally:
            process.kill()


def take_turns(
    workers: Sequence[Worker],
    cases: Sequence[Case],
    num_rounds: int,
    show: Show,
    skip: Skip,
    for_s: float = FOR_S,
) -> None:
    """Give each case a turn in each round, after a warm-up round.

    A case that would take too long is left out.
    """
    worker_of = {worker.kind: worker for worker in workers}
    for number, (round_number, case) in enumerate(_turns(cases, num_rounds)):
        show(number, (1 + num_rounds) * len(cases), str(case))
        worker = worker_of[case.kind]
        if round_number > 0:
            if case.first_s is not None:
                case.take_turn(worker, for_s)
        elif (expected_s := _expected_s(case, cases)) > LONGEST_S:
            skip(say("lab.too_long", case=case, seconds=f"{expected_s:.0f}"))
        else:
            case.warm_up(worker)


def _expected_s(case: Case, cases: Sequence[Case]) -> float:
    """Estimate the time of a step from a shorter one of that engine; 0 if unknown.

    A prompt takes at most as long as its tokens would one by one.
    """
    known = [one for one in cases if one.kind == case.kind and one.first_s is not None]
    for one in reversed(known):
        assert one.first_s is not None
        if one.work == case.work:
            return one.first_s * case.tokens / one.tokens
    if case.work == "prefill" and known:
        return min(one.first_s or 0.0 for one in known) * case.tokens
    return 0.0


def _turns(cases: Sequence[Case], num_rounds: int) -> Iterator[tuple[int, Case]]:
    """Yield the cases of each round."""
    for round_number in range(1 + num_rounds):
        for case in cases:
            yield round_number, case


def _answer(process: subprocess.Popen[str], kind: Kind) -> str:
    """Read a line from a process."""
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        raise CourseError(
            f"{kind.key}: expected an answer, got the end of its process; what it said "
            "stands above"
        )
    return line
