"""Grades some days in a child process, which a solution may crash or hang."""

import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tiny_llm_course.catalogue import say
from tiny_llm_course.errors import CourseError
from tiny_llm_course.extension.preparing import prepare
from tiny_llm_course.grading.launch import Launch, Launched, start
from tiny_llm_course.grading.results import CRASHED, Results, append, read
from tiny_llm_course.places import ROOT, TESTS
from tiny_llm_course.syllabus import Day, Task

SILENCE_LIMIT_S = 60.0
"""No test takes a tenth of this, on the slowest machine that we have seen."""

NO_TESTS_COLLECTED = 5

QUIETLY = ("-q", "--tb=no", "--assert=plain", "-p", "no:cacheprovider")
"""Nobody sees what pytest prints, so it need not look for lines and values to show."""

ALONE = ("-p", "no:xdist", "-p", "no:xdist.looponfail")
"""One process grades, so that what shares tests among several is not imported."""


def grade(
    days: Sequence[Day],
    solution: str,
    pytest_args: Sequence[str] = (),
    *,
    tasks: Sequence[Task] | None = None,
    launch: Launch = start,
    silence_limit_s: float = SILENCE_LIMIT_S,
) -> Results:
    """Run the tests of some days, and return what came of them.

    If some of them have kernels in C++, these are compiled first.

    A test that ends the interpreter, or that does not end, decides about its task, and
    the tests of the other tasks run in a new process.

    Args:
        days: What to grade.
        solution: Whom to grade: a package or a folder.
        pytest_args: More arguments for pytest, such as `-k task_1`.
        tasks: Those to grade. None runs all tests of all tasks.
        launch: Starts pytest.
        silence_limit_s: How long one test may take.

    Raises:
        CourseError: pytest does not understand its arguments, or finds no test.
    """
    prepare(days, solution)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "results.jsonl"
        arguments = pytest_arguments(
            days, solution, [*QUIETLY, *ALONE, *pytest_args], tasks
        )
        arguments += ["--results", str(path)]
        path.touch()
        while _unfinished(launch(arguments), path, silence_limit_s):
            pass
        return read(path)


def pytest_arguments(
    days: Sequence[Day],
    solution: str,
    pytest_args: Sequence[str],
    tasks: Sequence[Task] | None = None,
) -> list[str]:
    """Return the arguments for pytest that run the tests of some days, or tasks."""
    named = [name for day in days for name in day.test_files]
    if tasks is not None:
        named = list(dict.fromkeys(task.test_file for task in tasks))
    options = ["--rootdir", str(ROOT), "-c", str(ROOT / "pyproject.toml")]
    options += [f"--task={task.address}" for task in tasks or ()]
    files = [str(TESTS / name) for name in named]
    return [*options, "--solution", solution, *files, *pytest_args]


def _unfinished(launched: Launched, path: Path, silence_limit_s: float) -> bool:
    """Wait for pytest. Tell whether a test broke it, so that others have no result."""
    process = launched.process
    try:
        hangs = _wait(process, path, silence_limit_s)
    finally:
        process.kill()
    with launched.output as output:
        output.seek(0)
        said = output.read()
    running = [result for result in read(path).tests.values() if not result.status]
    if running:
        reason = _reason(process.returncode, silence_limit_s if hangs else None)
        append(path, replace(running[-1], status=CRASHED, message=reason))
        return True
    if read(path).tests:
        return False
    if process.returncode == NO_TESTS_COLLECTED:
        raise CourseError(
            "no test matches; leave out -k, or see `pdm run test -- --co`"
        )
    raise CourseError(f"pytest ran no test; {_complaint(said)}")


def _complaint(said: str) -> str:
    """Return what pytest does not understand, or else the last that it said."""
    errors = re.findall("error: (.*)", said, re.IGNORECASE)
    return "".join(errors[-1:] or said.strip().splitlines()[-1:])


def _wait(process: subprocess.Popen[str], path: Path, silence_limit_s: float) -> bool:
    """Wait until pytest ends, or until nothing has happened for too long.

    Before its first test pytest is starting, which the limit of a test is not for.
    """
    start_s = time.time()
    while True:
        try:
            process.wait(timeout=0.1)
        except subprocess.TimeoutExpired:
            last_s = path.stat().st_mtime
            limit_s = silence_limit_s if last_s > start_s else SILENCE_LIMIT_S
            if time.time() - max(last_s, start_s) > limit_s:
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
