"""Grades some days in a child process, which a solution may crash or hang."""

import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tiny_llm_course.catalogue import say
from tiny_llm_course.errors import CourseError
from tiny_llm_course.grading.results import WRONG, Results, append, read
from tiny_llm_course.places import ROOT, TESTS
from tiny_llm_course.syllabus import Day, Task, select_days

SILENCE_LIMIT_S = 60.0
"""No test takes a tenth of this, on the slowest machine that we have seen."""

NO_TESTS_COLLECTED = 5


def grade(
    days: Sequence[Day],
    solution: str,
    pytest_args: Sequence[str] = (),
    silence_limit_s: float = SILENCE_LIMIT_S,
) -> Results:
    """Run the tests of some days, and return what came of them.

    A test that ends the interpreter, or that does not end, counts as wrong, and the
    tests behind it run in a new process.

    Args:
        days: What to grade.
        solution: Whom to grade: a package or a folder.
        pytest_args: More arguments for pytest, such as `-k task_1`.
        silence_limit_s: How long one test may take.

    Raises:
        CourseError: pytest does not understand its arguments, or finds no test.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "results.jsonl"
        command = pytest_command(days, solution, ["-q", *pytest_args])
        command += ["--results", str(path)]
        while _unfinished(command, path, silence_limit_s):
            pass
        return read(path)


def grade_tasks(tasks: Sequence[Task], solution: str) -> Results:
    """Grade single tasks of any days. Like `grade` otherwise."""
    addresses = {(task.address.week, task.address.day) for task in tasks}
    days = [
        day for day in select_days(None, None) if (day.week, day.number) in addresses
    ]
    wanted = [f"--task={task.address}" for task in tasks]
    return grade(days, solution, wanted)


def pytest_command(
    days: Sequence[Day], solution: str, pytest_args: Sequence[str]
) -> list[str]:
    """Return the command that runs the tests of some days."""
    files = [str(TESTS / day.test_file) for day in days]
    options = ["--rootdir", str(ROOT), "-c", str(ROOT / "pyproject.toml")]
    return [
        *(sys.executable, "-m", "pytest", *options),
        *("--solution", solution, *files, *pytest_args),
    ]


def _unfinished(command: list[str], path: Path, silence_limit_s: float) -> bool:
    """Run pytest on the tests that have no result yet. Tell whether one broke it."""
    path.touch()
    with tempfile.TemporaryFile("w+", encoding="utf-8") as output:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
        )
        try:
            hangs = _wait(process, path, silence_limit_s)
        finally:
            process.kill()
        output.seek(0)
        said = output.read()
    running = [result for result in read(path).tests.values() if not result.status]
    if running:
        reason = _reason(process.returncode, silence_limit_s if hangs else None)
        append(path, replace(running[-1], status=WRONG, message=reason))
        return True
    if process.returncode == NO_TESTS_COLLECTED and not read(path).tests:
        raise CourseError(
            "no test matches; leave out -k, or see `pdm run test -- --co`"
        )
    if process.returncode not in {0, 1, NO_TESTS_COLLECTED}:
        raise CourseError(said.strip().splitlines()[-1] if said else "pytest failed")
    return False


def _wait(process: subprocess.Popen[bytes], path: Path, silence_limit_s: float) -> bool:
    """Wait until pytest ends, or until nothing has happened for too long."""
    while True:
        try:
            process.wait(timeout=0.5)
        except subprocess.TimeoutExpired:
            if time.time() - path.stat().st_mtime > silence_limit_s:
                process.kill()
                process.wait()
                return True
        else:
            return False


def _reason(code: int, silence_limit_s: float | None) -> str:
    """Say why a test has no result."""
    if silence_limit_s is not None:
        return say("grading.no_time", seconds=silence_limit_s)
    how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
    return say("grading.killed", how=how)
