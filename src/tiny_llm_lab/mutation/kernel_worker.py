"""Runs the graded tests of a day on mutants of its kernels, each in a child process.

    python -m tiny_llm_lab.mutation.kernel_worker FOLDER DAY FILE

FOLDER is a solution with mutants in its kernels, DAY a number in Week 2. The numbers of
the mutants come from standard input, and the outcome of each is written to FILE.
"""

import ctypes
import importlib
import json
import os
import resource
import signal
import sys
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mlx.core as mx
import pytest

from tiny_llm_course.extension.building import MODULE, module_of
from tiny_llm_course.grading.diagnosis import known_mistakes
from tiny_llm_course.grading.engine import session
from tiny_llm_course.grading.engine.plugin import task_of
from tiny_llm_course.grading.engine.session import QUIETLY
from tiny_llm_course.grading.judgement.trial import Outcome, Trial
from tiny_llm_course.grading.judgement.verdict import VerdictError
from tiny_llm_course.solution import Solution, load_solution
from tiny_llm_course.specimens import misconceptions
from tiny_llm_course.syllabus import select_days, task_at
from tiny_llm_lab.mutation.outcomes import (
    ENDED,
    REJECTED,
    SURVIVED,
    Tried,
    append,
)

NOT_SEEN = "not seen"
"""No test comes where it stands, or its types make no program."""

LIMIT_S = 3.0
"""CPU time of one mutant on one test, and ten times of what the reference takes."""

WALL_S = 60.0
"""A mutant may wait for what does not come."""

MEMORY_BYTES = 4 * 2**30

ONE_IN = 40
"""Of the mutants that are rejected by a verdict, so many are named."""


class Collector:
    """A plugin of pytest that takes the tests of kernels out of it."""

    def __init__(self) -> None:
        self.trials: list[Trial] = []

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Keep each test with its arguments."""
        for item in session.items:
            task = task_of(item)
            assert isinstance(item, pytest.Function)
            if task and task_at(task).kernels:
                arguments = dict(item.callspec.params)
                device: Any = arguments.pop("device")
                if device == mx.cpu:
                    own = Trial(task, item.nodeid, item.obj, arguments, device)
                    self.trials.append(own)


@dataclass(frozen=True)
class Module:
    """The compiled kernels, in which a mutant is chosen.

    Attributes:
        library: The module.
        num_mutants: Their highest number, and one more.
    """

    library: ctypes.CDLL
    num_mutants: int

    def choose(self, number: int) -> None:
        """Let a mutant run. With 0 it is none, with -1 it is noted who could."""
        ctypes.c_int.in_dll(self.library, "tiny_llm_chosen_mutant").value = number

    def seen(self) -> list[int]:
        """Return the numbers of the mutants that could have run, and forget them."""
        kind = ctypes.c_byte * self.num_mutants
        noted = kind.in_dll(self.library, "tiny_llm_seen_mutants")
        found = [number for number, is_seen in enumerate(noted) if is_seen]
        ctypes.memset(noted, 0, self.num_mutants)
        return found


def in_child(work: Callable[[], object]) -> Any:  # noqa: ANN401 - what is JSON
    """Return what some work returns, done in a copy of this process.

    Returns:
        The name of a signal if that has ended it, such as SIGSEGV.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_BYTES, MEMORY_BYTES))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        try:
            with os.fdopen(writing, "w") as pipe:
                pipe.write(json.dumps(work()))
            os._exit(0)
        finally:
            os._exit(1)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        said = pipe.read()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return signal.Signals(os.WTERMSIG(status)).name
    return json.loads(said) if status == 0 else "exit"


def run(trial: Trial, solution: Solution, limit_s: float) -> VerdictError | None:
    """Run a test, and end this process if that takes too long."""
    signal.setitimer(signal.ITIMER_PROF, limit_s)
    signal.setitimer(signal.ITIMER_REAL, WALL_S)
    try:
        return trial.run(solution)
    except Exception as error:  # noqa: BLE001 - what a test does with wrong results
        return VerdictError(f"{type(error).__name__}: {error}")
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)


def main(folder: str, day: str, path: str) -> None:
    """Run what standard input lists."""
    numbers: list[int] = json.load(sys.stdin)
    collector = Collector()
    (found,) = select_days(2, int(day))
    arguments = session.pytest_arguments([found], folder, [*QUIETLY, "--collect-only"])
    with Path(os.devnull).open("w") as nowhere:
        own, sys.stdout = sys.stdout, nowhere
        pytest.main(arguments, plugins=[collector])
        sys.stdout = own
    solution = load_solution(folder)
    solution.get("kernels.built")
    importlib.import_module(f"{solution.package}.{MODULE}")
    library = ctypes.CDLL(str(module_of(Path(folder))))
    proof = Proof(collector.trials, solution, Module(library, max(numbers) + 1))
    for one in proof.tried(numbers):
        append(Path(path), one)


@dataclass(frozen=True)
class Proof:
    """The tests of a day, and the solution with mutants.

    Attributes:
        trials: The tests of kernels.
        solution: The solution.
        module: Its kernels.
    """

    trials: Sequence[Trial]
    solution: Solution
    module: Module

    def tried(self, numbers: Sequence[int]) -> Iterator[Tried]:
        """Yield the outcome of each mutant."""
        noted = in_child(self._note)
        if isinstance(noted, str):
            raise SystemExit(f"the reference does not pass, with no mutant: {noted}")
        limits = [LIMIT_S + 10 * seconds for seconds, _ in noted]
        by_mutant: dict[int, list[tuple[float, int]]] = {}
        for place, (seconds, seen) in enumerate(noted):
            for number in seen:
                by_mutant.setdefault(number, []).append((seconds, place))
        sampled: list[tuple[Tried, Trial]] = []
        for number in numbers:
            own = [(at, limits[at]) for _, at in sorted(by_mutant.get(number, []))]
            if not own:
                yield Tried(str(number), NOT_SEEN)
                continue
            place = in_child(
                lambda own=own, number=number: self._rejecting(number, own)
            )
            if isinstance(place, str):
                yield Tried(str(number), ENDED, place)
            elif place < 0:
                yield Tried(str(number), SURVIVED)
            else:
                trial = self.trials[place]
                tried = Tried(str(number), REJECTED, trial.test)
                yield tried
                if zlib.crc32(str(number).encode()) % ONE_IN == 0:
                    sampled.append((tried, trial))
        yield from self._named(sampled)

    def _note(self) -> list[tuple[float, list[int]]]:
        """Run each test on the reference. Return its time, and who could have run."""
        found: list[tuple[float, list[int]]] = []
        self.module.choose(-1)
        for trial in self.trials:
            start_s = time.process_time()
            verdict = run(trial, self.solution, WALL_S)
            if verdict is not None:
                raise verdict
            found.append((time.process_time() - start_s, self.module.seen()))
        return found

    def _rejecting(self, number: int, places: Sequence[tuple[int, float]]) -> int:
        """Return the place of the first test that rejects a mutant, or -1.

        Args:
            number: The mutant.
            places: Of the tests, and how long each may take.
        """
        self.module.choose(number)
        for place, limit_s in places:
            if run(self.trials[place], self.solution, limit_s):
                return place
        return -1

    def _named(self, sampled: Sequence[tuple[Tried, Trial]]) -> Iterator[Tried]:
        """Yield what explains each of some rejected mutants."""
        for tried, trial in sampled:
            name = in_child(lambda one=tried, on=trial: self._explained(one.key, on))
            yield Tried(tried.key, tried.status, tried.test, name)

    def _explained(self, key: str, rejecting: Trial) -> str:
        """Tell what a learner reads beside the failure: of a record, or a symptom."""
        task = rejecting.task
        own = [one for one in self.trials if one.task == task]
        self.module.choose(int(key))
        outcomes = [Outcome(one, run(one, self.solution, WALL_S)) for one in own]
        self.module.choose(0)
        if known_mistakes.explain(outcomes, misconceptions(task)):
            return "record"
        return "symptom" if known_mistakes.describe(outcomes) else "nothing"


if __name__ == "__main__":
    main(*sys.argv[1:])
