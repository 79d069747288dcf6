"""What has to hold before a change goes in: the steps of `pdm run check`."""

import os
import subprocess
import sys
import time
from dataclasses import dataclass

from tiny_llm_course.grading.results import NOT_STARTED
from tiny_llm_course.grading.session import grade
from tiny_llm_course.places import ROOT
from tiny_llm_course.syllabus import select_days


@dataclass(frozen=True)
class Step:
    """One program that must succeed.

    Args:
        name: What holds if it does.
        arguments: What follows `python` on the command line.
    """

    name: str
    arguments: tuple[str, ...]


@dataclass(frozen=True)
class Outcome:
    """How a step ended.

    Args:
        succeeded: Whether the exit code was 0.
        output: All that it printed, on stdout and stderr.
        duration_s: How long it took.
    """

    succeeded: bool
    output: str
    duration_s: float

    @property
    def last_line(self) -> str:
        """The line that sums up, without what it is framed with."""
        lines = self.output.split("\n")
        return next((line.strip("= ") for line in reversed(lines) if line.strip()), "")


def call(function: str, *arguments: str) -> tuple[str, ...]:
    """Return the arguments for `python` that call `function`, as `pdm run` does.

    Args:
        function: Where it is, such as "tiny_llm_course.commands.starter:command".
        arguments: What it finds on its command line.
    """
    module, _, name = function.partition(":")
    code = f"import sys; from {module} import {name}; sys.exit({name}())"
    return ("-c", code, *arguments)


STEPS = (
    Step("the code is formatted", ("-m", "ruff", "format", "--check", ".")),
    Step("ruff finds nothing", ("-m", "ruff", "check", ".")),
    Step("pyright finds nothing", ("-m", "pyright", "--pythonpath", sys.executable)),
    Step(
        "the starter is up to date",
        call("tiny_llm_course.commands.starter:command", "--check"),
    ),
    Step(
        "the kernels compile",
        call("tiny_llm_course.commands.build_ext:command_ref"),
    ),
    Step(
        "so do their stubs",
        call("tiny_llm_course.commands.build_ext:command"),
    ),
    Step("the course's own tests pass", ("-m", "pytest", "-q", "tests/course")),
    Step(
        "the reference passes",
        call("tiny_llm_course.commands.test:command_refsol", "-v"),
    ),
    Step("the starter passes nothing", call("tiny_llm_course.checks:grade_starter")),
    Step(
        "every known mistake fails",
        call("tiny_llm_course.commands.test_grader:command"),
    ),
    Step("the book is true", call("tiny_llm_course.commands.book:command", "--check")),
    Step(
        "its pages work in a browser",
        call("tiny_llm_course.commands.test_book:command"),
    ),
)


def run(step: Step) -> Outcome:
    """Run a step in the root of the repository."""
    start_s = time.perf_counter()
    ran = subprocess.run(
        [sys.executable, *step.arguments],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},  # keeps both in their order
        text=True,
        check=False,
    )
    return Outcome(ran.returncode == 0, ran.stdout, time.perf_counter() - start_s)


def grade_starter() -> int:
    """Grade the starter, and print the tests that do not say "not started".

    A test that passes on a stub would pass on anything.
    """
    results = grade(select_days(None, None), "tiny_llm").tests.values()
    surprising = [result for result in results if result.status != NOT_STARTED]
    for result in surprising:
        print(f"{result.status}: {result.test}: {result.message}")
    print(f"{len(results) - len(surprising)} of {len(results)} tests say: not started")
    return 0 if results and not surprising else 1
