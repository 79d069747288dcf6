"""Grades some days in a child process, which a solution may crash or hang."""

import contextlib
import re
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tiny_llm_course.catalogue import say
from tiny_llm_course.errors import CourseError
from tiny_llm_course.extension.preparing import prepare
from tiny_llm_course.grading.engine import fence
from tiny_llm_course.grading.engine.ended import Ended, how_it_ended, tell
from tiny_llm_course.grading.engine.launch import Launch, Launched, start
from tiny_llm_course.grading.engine.trace import Trace
from tiny_llm_course.grading.results import CRASHED, Ending, Results, append, read
from tiny_llm_course.places import ROOT, TESTS
from tiny_llm_course.records.record import compile_ahead
from tiny_llm_course.solution import load_solution
from tiny_llm_course.syllabus import Day, Task

SILENCE_LIMIT_S = 60.0
"""No test takes a tenth of this, on the slowest machine that we have seen."""

NO_TESTS_COLLECTED = 5

QUIETLY = (
    *("-q", "--tb=no", "--assert=plain", "-p", "no:cacheprovider"),
    *("--disable-plugin-autoload", "-p", "pytest_timeout", "-p", "no:logging"),
)
"""pytest's output is not shown, so it need not collect lines and values for it.

Nor need it keep what is logged, or look for plugins. The one that is named has a
setting in `pyproject.toml`.
"""

BELOW_PYTHON = ("--capture=sys",)
"""Stderr of C and C++ goes to our file, not into pytest's, which a crash would lose."""


def grade(
    days: Sequence[Day],
    solution: str,
    pytest_args: Sequence[str] = (),
    *,
    tasks: Sequence[Task] | None = None,
    launch: Launch = start,
    silence_limit_s: float = SILENCE_LIMIT_S,
) -> Results:
    """Run the tests of some days, and return the results.

    If some of them have kernels in C++, these are compiled first.

    A test that crashes or hangs decides its task. The tests of the other tasks run in a
    new process.

    Args:
        days: What to grade.
        solution: The solution to grade: a package or a folder.
        pytest_args: More arguments for pytest, such as `-k task_1`.
        tasks: The tasks to grade. None runs all tests of all tasks.
        launch: Starts pytest.
        silence_limit_s: How long one test may take.

    Raises:
        CourseError: pytest does not understand its arguments, or finds no test.
    """
    prepare(days, solution)
    with contextlib.suppress(OSError, subprocess.CalledProcessError):
        compile_ahead(days)  # without them there is a verdict, and no name
    solved_in = load_solution(solution).folder
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "results.jsonl"
        options = [*QUIETLY, *BELOW_PYTHON, *pytest_args]
        options += ["--results", str(path), *_fenced(solved_in, Path(folder))]
        arguments = pytest_arguments(days, str(solved_in), options, tasks)
        path.touch()
        attempt = Attempt(path, solved_in, silence_limit_s)
        while _unfinished(launch(arguments), attempt):
            Trace(path).clear()
        return read(path)


def _fenced(solution: Path, folder: Path) -> list[str]:
    """Return the arguments for pytest that fence in other people's code."""
    if not fence.is_strangers(solution):
        return []
    scratch = folder / "scratch"
    scratch.mkdir()
    return [fence.OPTION, str(scratch)]


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


@dataclass(frozen=True)
class Attempt:
    """The state that the processes of one run share.

    Attributes:
        path: The file that they write results to.
        folder: The solution.
        silence_limit_s: How long one test may take.
    """

    path: Path
    folder: Path
    silence_limit_s: float


def _unfinished(launched: Launched, attempt: Attempt) -> bool:
    """Wait for pytest. Tell whether a test ended it, so that others have no result."""
    process, path = launched.process, attempt.path
    num_known = len(read(path).tests)
    try:
        hangs = _hangs(process, path, attempt.silence_limit_s)
        if hangs:
            Trace(path).ask_for_stack(process.pid)
    finally:
        process.kill()
        process.wait()
    printed, complaint = launched.said()
    results, how = read(path), how_it_ended(process.returncode)
    running = [result for result in results.tests.values() if not result.status]
    if running:
        ended = Ended(None if hangs else how, complaint, attempt.silence_limit_s)
        message = tell(running[-1], ended, Trace(path), attempt.folder)
        append(path, replace(running[-1], status=CRASHED, message=message))
        return True
    if process.returncode < 0 and not hangs and len(results.tests) > num_known:
        append(path, Ending(how))
        return not results.are_complete
    if (results.are_complete and results.tests) or hangs:
        return False
    raise CourseError(_no_results(process.returncode, results, printed + complaint))


def _no_results(code: int, results: Results, said: str) -> str:
    """Return the error for a process that ended early, or found no test."""
    if results.tests:
        reason = _complaint(said) or say("grading.no_reason", code=code)
        return say("grading.broke_off", reason=reason, folder=tempfile.gettempdir())
    if code == NO_TESTS_COLLECTED:
        return say("commands.test.no_match")
    return say("commands.test.no_run", complaint=_complaint(said))


def _complaint(said: str) -> str:
    """Return pytest's usage error, or else the last line of its output."""
    errors = re.findall("error: (.*)", said, re.IGNORECASE)
    return "".join(errors[-1:] or said.strip().splitlines()[-1:])


def _hangs(process: subprocess.Popen[str], path: Path, silence_limit_s: float) -> bool:
    """Wait until pytest ends; tell whether it made no progress for too long.

    Until the first test, while pytest is starting, the default limit applies.
    """
    start_s = time.time()
    while True:
        try:
            process.wait(timeout=0.1)
        except subprocess.TimeoutExpired:
            last_s = path.stat().st_mtime
            limit_s = silence_limit_s if last_s > start_s else SILENCE_LIMIT_S
            if time.time() - max(last_s, start_s) > limit_s:
                return True
        else:
            return False
