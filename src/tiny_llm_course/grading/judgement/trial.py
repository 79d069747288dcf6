"""One graded test, ready to be run again on another solution."""

from collections.abc import Callable, Generator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from typing import Any

import mlx.core as mx

from tiny_llm_course.grading.judgement.call import Call
from tiny_llm_course.grading.judgement.grader import Grader
from tiny_llm_course.grading.judgement.verdict import VerdictError
from tiny_llm_course.solution import Solution
from tiny_llm_course.syllabus import Address


@dataclass(frozen=True, eq=False)
class Trial:
    """A test function with its arguments, all but the grader.

    It is equal only to itself, so that results can be stored by trial.

    Attributes:
        task: The task that it grades.
        test: The node id of the test.
        function: The test.
        arguments: By name. A graded test takes `grade` and values, no other fixture.
        device: The MLX device for the run.
        symbols: The public names that it uses of a solution.
    """

    task: Address
    test: str
    function: Callable[..., None]
    arguments: dict[str, Any]
    device: mx.DeviceType
    symbols: frozenset[str] = frozenset()

    def run(self, solution: Solution) -> VerdictError | None:
        """Run the test on a solution. Return its verdict, or None if it passes."""
        try:
            with quietly_on(self.device):
                self.function(**self.arguments, grade=Grader(solution))
        except VerdictError as verdict:
            return verdict
        return None

    def calls(self, solution: Solution) -> list[Call]:
        """Run the test on a solution that passes it. Return the calls that it makes."""
        grader = Grader(solution)
        with quietly_on(self.device):
            self.function(**self.arguments, grade=grader)
        return grader.calls


@dataclass(frozen=True)
class Outcome:
    """What came of one test of a solution.

    Attributes:
        trial: The test.
        verdict: Why it failed. None if it passed.
    """

    trial: Trial
    verdict: VerdictError | None


@contextmanager
def quietly_on(device: mx.DeviceType) -> Generator[None]:
    """Use a device with a fixed seed, and suppress all output."""
    usual = mx.default_device()
    mx.set_default_device(device)
    mx.random.seed(0)
    try:
        with redirect_stdout(StringIO()):
            yield
    finally:
        mx.set_default_device(usual)


@contextmanager
def uncompiled() -> Generator[None]:
    """Let functions of `mx.compile` run as they were written.

    MLX calls a compiler of C++ for each, and again for other constants. One who tries a
    hundred solutions waits for that, and needs no more than their results.
    """
    mx.disable_compile()
    try:
        yield
    finally:
        mx.enable_compile()
