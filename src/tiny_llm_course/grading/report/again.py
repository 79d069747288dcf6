"""Repeats a call that failed, so that its numbers can be looked at."""

import contextlib
import functools
import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tiny_llm_course.catalogue import say
from tiny_llm_course.grading.engine import fence, session
from tiny_llm_course.grading.engine.stash import OUTCOMES, UNDERWAY
from tiny_llm_course.grading.judgement.call import Call
from tiny_llm_course.grading.judgement.verdict import VerdictError
from tiny_llm_course.grading.report import numbers
from tiny_llm_course.places import ROOT, STARTER
from tiny_llm_course.solution import load_solution


class _Witness:
    """A plugin of pytest that remembers the call of a test, and its verdict."""

    def __init__(self) -> None:
        self.call: Call | None = None
        self.verdict: VerdictError | None = None

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Take call and verdict from our plugin."""
        self.call = session.config.stash[UNDERWAY].last
        for outcomes in session.config.stash[OUTCOMES].values():
            self.verdict = next((one.verdict for one in outcomes if one.verdict), None)


def failing_call(
    test: str, solution: str = STARTER.name
) -> tuple[Call, Callable[..., Any]]:
    """Run one test, and return the call that it ends with.

    Args:
        test: Its node id, "tests/test_week_1_day_4.py::test_...".
        solution: A package or a folder.

    Returns:
        The call with its `args` and `kwargs`, and the solution's function that it
        calls. For a call of several steps, a function without arguments that runs them.
    """
    call = _witnessed(test, solution).call
    if call is None:
        raise ValueError(say("grading.no_call", test=test))
    loaded = load_solution(solution)
    if type(call).run is Call.run:
        return call, call.target(loaded)
    return call, functools.partial(call.run, loaded)


def _witnessed(test: str, solution: str) -> _Witness:
    """Run one test without output."""
    witness = _Witness()
    with contextlib.redirect_stdout(io.StringIO()):
        options = [*session.QUIETLY, str(ROOT / test)]
        arguments = session.pytest_arguments([], solution, options)
        pytest.main(arguments, plugins=[witness])
    return witness


def _main(test: str, folder: str, scratch: str | None = None) -> None:
    """Print the numbers of the call that a test fails with."""
    if scratch:
        import mlx.core as mx

        fence.enter(Path(scratch), has_gpu=mx.is_available(mx.gpu))
    witness = _witnessed(test, folder)
    if witness.call and witness.verdict:
        print(numbers.write(witness.call, witness.verdict, load_solution(folder)))


if __name__ == "__main__":
    _main(*sys.argv[1:])
