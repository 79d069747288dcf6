"""Makes a call that failed once more, for whoever wants to see its numbers."""

import contextlib
import functools
import io
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from textwrap import indent
from typing import Any

import click
import pytest

from tiny_llm_course.catalogue import say
from tiny_llm_course.grading import fence, numbers
from tiny_llm_course.grading.call import Call
from tiny_llm_course.grading.results import CRASHED
from tiny_llm_course.grading.standing import WRONG, TaskReport
from tiny_llm_course.grading.verdict import VerdictError
from tiny_llm_course.places import ROOT, STARTER
from tiny_llm_course.solution import load_solution
from tiny_llm_course.untrusted import visible

LIMIT_S = 60

MAX_LENGTH = 20_000
"""Of the numbers of one call, in characters."""


class _Witness:
    """A plugin of pytest that remembers the call of a test, and its verdict."""

    def __init__(self) -> None:
        self.call: Call | None = None
        self.verdict: VerdictError | None = None

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Take both from our plugin."""
        from tiny_llm_course.grading.plugin import OUTCOMES, UNDERWAY

        self.call = session.config.stash[UNDERWAY].last
        for outcomes in session.config.stash[OUTCOMES].values():
            self.verdict = next((one.verdict for one in outcomes if one.verdict), None)


def failing_call(
    test: str, solution: str = STARTER.name
) -> tuple[Call, Callable[..., Any]]:
    """Run one test, and return the call that it ends with.

    Args:
        test: As pytest calls it, "tests/test_week_1_day_4.py::test_...".
        solution: A package or a folder.

    Returns:
        The call with its `args` and `kwargs`, and what of the solution it calls. Where
        a call takes several steps, that is a function of no arguments.
    """
    call = _witnessed(test, solution).call
    if call is None:
        raise ValueError(f"{test}: expected a test that calls the solution, got none")
    loaded = load_solution(solution)
    if type(call).run is Call.run:
        return call, call.target(loaded)
    return call, functools.partial(call.run, loaded)


def print_numbers(reports: Sequence[TaskReport], solution: str) -> None:
    """Print the numbers of the first call that fails, for each task that does."""
    for report in reports:
        if report.status == WRONG:
            first = report.failures[0]
            click.echo(f"\n{say('report.numbers', address=report.task.address)}")
            if first.status != CRASHED:
                click.echo(_rebuilt(first.test, str(load_solution(solution).folder)))
            click.echo(_to_paste(first.test, solution))


def _rebuilt(test: str, folder: str) -> str:
    """Make a call once more, in a process of its own, and return its numbers."""
    with tempfile.TemporaryDirectory() as scratch:
        command = [sys.executable, "-m", __name__, test, folder]
        if fence.is_strangers(Path(folder)):
            command = [*fence.without_network(), *command, scratch]
        try:
            ran = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=LIMIT_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return say("grading.no_time", seconds=LIMIT_S)
    return visible(ran.stdout.rstrip() or ran.stderr.rstrip(), MAX_LENGTH)


def _to_paste(test: str, solution: str) -> str:
    """Write the lines of Python that make a call once more."""
    whose = "" if solution == STARTER.name else f", {solution!r}"
    lines = (
        f"from {__name__} import failing_call",
        f"call, yours = failing_call({test!r}{whose})",
        "yours(*call.args, **call.kwargs)",
    )
    return "\n".join([say("report.paste"), indent("\n".join(lines), "  ")])


def _witnessed(test: str, solution: str) -> _Witness:
    """Run one test, without a word."""
    witness = _Witness()
    with contextlib.redirect_stdout(io.StringIO()):
        pytest.main(
            [
                *("-q", "--tb=no", "--assert=plain", "-p", "no:cacheprovider"),
                *("--rootdir", str(ROOT), "-c", str(ROOT / "pyproject.toml")),
                *("--solution", solution, str(ROOT / test)),
            ],
            plugins=[witness],
        )
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
