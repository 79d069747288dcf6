"""Prints the numbers of calls that failed, by repeating them in another process."""

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from textwrap import indent

import click

from tiny_llm_course.catalogue import say
from tiny_llm_course.grading.engine import fence
from tiny_llm_course.grading.report.standing import WRONG, TaskReport
from tiny_llm_course.grading.results import CRASHED
from tiny_llm_course.places import STARTER
from tiny_llm_course.solution import load_solution
from tiny_llm_course.untrusted import visible

AGAIN = "tiny_llm_course.grading.report.again"
"""Not imported here, since it imports MLX and pytest."""

LIMIT_S = 60

MAX_LENGTH = 20_000
"""Limit for the numbers of one call, in characters."""


def print_numbers(reports: Sequence[TaskReport], solution: str) -> None:
    """Print the numbers of the first failing call of each task that fails."""
    for report in reports:
        if report.status == WRONG:
            first = report.failures[0]
            click.echo(f"\n{say('report.numbers', address=report.task.address.named)}")
            if first.status != CRASHED:
                click.echo(_rebuilt(first.test, str(load_solution(solution).folder)))
            click.echo(_to_paste(first.test, solution))


def _rebuilt(test: str, folder: str) -> str:
    """Repeat a call in a process of its own, and return its numbers."""
    with tempfile.TemporaryDirectory() as scratch:
        command = [sys.executable, "-m", AGAIN, test, folder]
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
    """Write the lines of Python that repeat a call."""
    whose = "" if solution == STARTER.name else f", {solution!r}"
    lines = (
        f"from {AGAIN} import failing_call",
        f"call, yours = failing_call({test!r}{whose})",
        "yours(*call.args, **call.kwargs)",
    )
    return "\n".join([say("report.paste"), indent("\n".join(lines), "  ")])
