"""The pytest plugin: the solution under test, the devices, and what a failure says."""

import os

# On NVIDIA GPUs MLX multiplies float32 matrices in TF32, which has the precision of
# float16. A grader that counts float32 units switches that off, before MLX starts.
os.environ.setdefault("MLX_ENABLE_TF32", "0")

# What is graded before there are kernels must not depend on whether they are built.
os.environ.setdefault("TINY_LLM_KERNELS", "none")

# Kernels in C++ are watched: what they read and write lies between zones.
os.environ.setdefault("TINY_LLM_WATCH", "1")

import re
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import mlx.core as mx
import pytest

from tiny_llm_course.errors import CourseError
from tiny_llm_course.grading import results
from tiny_llm_course.grading.diagnosis import Outcome, describe, explain
from tiny_llm_course.grading.grader import Grader
from tiny_llm_course.grading.proof import append_score, score
from tiny_llm_course.grading.standing import is_own_stub
from tiny_llm_course.grading.trial import Trial
from tiny_llm_course.grading.verdict import VerdictError
from tiny_llm_course.places import REFERENCE
from tiny_llm_course.solution import Solution, load_solution
from tiny_llm_course.specimens import misconceptions
from tiny_llm_course.syllabus import Address, task_at

ONLY_CPU = os.environ.get("TINY_LLM_DEVICES") == "cpu"
"""What the book prints is the same on every machine, with a GPU or without."""

DEVICES = [mx.cpu, *([mx.gpu] if mx.is_available(mx.gpu) and not ONLY_CPU else [])]

OUTCOMES = pytest.StashKey[dict[Address, list[Outcome]]]()
"""What came of every graded test of this run, by task."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--solution`, `--task`, `--results` and `--scores`."""
    parser.addoption(
        "--solution",
        default="tiny_llm",
        metavar="PACKAGE_OR_FOLDER",
        help="the solution to grade (default: tiny_llm)",
    )
    parser.addoption(
        "--task",
        action="append",
        type=Address.parse,
        metavar="ADDRESS",
        help="run the tests of this task only, such as 'week 1, day 4, task 1'",
    )
    parser.addoption(
        "--results",
        type=Path,
        metavar="FILE",
        help="write what comes of each graded test here, and skip those already there",
    )
    parser.addoption(
        "--scores",
        type=Path,
        metavar="FILE",
        help="run each test on all known solutions, and write what comes of it here",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Start without outcomes."""
    config.stash[OUTCOMES] = {}


@pytest.fixture(scope="session")
def solution(request: pytest.FixtureRequest) -> Solution:
    """Load the solution under test.

    The shapes in the annotations of the reference are checked at every call. A learner
    would get those complaints instead of an explanation, so theirs are not.
    """
    try:
        found = load_solution(str(request.config.getoption("--solution")))
    except CourseError as error:
        pytest.exit(str(error), returncode=2)
    if found.folder == REFERENCE:
        _check_shapes(found.package)
    return found


def _check_shapes(package: str) -> None:
    """Run the annotations of a package at every call."""
    from jaxtyping import install_import_hook

    from tiny_llm_course.grading import shapes  # brings beartype

    install_import_hook(package, f"{shapes.__name__}.checked")


def _check_no_shapes() -> None:
    """Leave the annotations alone from here on.

    The reference has passed with them, and a learner's code runs without.
    """
    from jaxtyping import config

    config.update("jaxtyping_disable", True)


@pytest.fixture(params=DEVICES, ids=lambda device: device.name)
def device(request: pytest.FixtureRequest) -> mx.DeviceType:
    """Give the test each device that MLX offers here."""
    return request.param


@pytest.fixture
def grade(solution: Solution, device: mx.DeviceType) -> Iterator[Grader]:
    """Judge the solution under test on one device."""
    usual = mx.default_device()
    mx.set_default_device(device)
    mx.random.seed(0)
    yield Grader(solution)
    mx.set_default_device(usual)


def task_of(item: pytest.Item) -> Address | None:
    """Return the task that a test grades, by the names of its file and function."""
    file = r"test_week_(\d+)_day_(\d+)(?:_task_\d+)?\.py"
    name = re.search(rf"{file}::test_task_(\d+)_", item.nodeid)
    return Address(*map(int, name.groups())) if name else None


def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Leave out other tasks, and what an earlier process has dealt with."""
    path, wanted = config.getoption("--results"), config.getoption("--task")
    if wanted:
        items[:] = [item for item in items if task_of(item) in wanted]
    if path:
        known = results.read(path).tests
        crashed = {one.task for one in known.values() if one.status == results.CRASHED}
        items[:] = [
            item
            for item in items
            if item.nodeid not in known and str(task_of(item)) not in crashed
        ]


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Write down which test is running, in case it takes the interpreter with it."""
    path, task = item.config.getoption("--results"), task_of(item)
    if item.config.getoption("--task") and task and _has_met_a_stub(item, task):
        pytest.skip("the task is not started")
    if path and task:
        results.append(path, results.Result(str(task), item.nodeid))


def _has_met_a_stub(item: pytest.Item, task: Address) -> bool:
    """Tell whether a test of a task has come upon a stub of the task itself."""
    outcomes = item.config.stash[OUTCOMES].get(task, [])
    return any(
        one.verdict is not None
        and is_own_stub(task_at(task), one.verdict.status, str(one.verdict))
        for one in outcomes[-1:]
    )


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(
    pyfuncitem: pytest.Function,
) -> Generator[None, object, object]:
    """Keep what comes of a graded test, and how to run it again."""
    task = task_of(pyfuncitem)
    verdict: VerdictError | None = None
    try:
        return (yield)
    except VerdictError as error:
        verdict = error
        raise
    finally:
        if task:
            outcome = Outcome(_trial(pyfuncitem, task), verdict)
            pyfuncitem.config.stash[OUTCOMES].setdefault(task, []).append(outcome)


def _trial(item: pytest.Function, task: Address) -> Trial:
    """Take a test out of pytest, with all its arguments but the grader."""
    arguments = dict(item.callspec.params)
    device = arguments.pop("device")
    assert isinstance(device, mx.DeviceType)
    return Trial(task, item.nodeid, item.obj, arguments, device)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[Any]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show a verdict as the text it carries, without a stack trace of ours."""
    report = yield
    verdict = call.excinfo.value if call.excinfo else None
    if report.skipped:
        return report
    status = results.PASSED if report.passed else results.WRONG
    if isinstance(verdict, VerdictError):
        status = verdict.status
        report.longrepr = f"{item.name}: {status}\n{verdict}"
    path, task = item.config.getoption("--results"), task_of(item)
    if path and task and (call.when == "call" or not report.passed):
        message = str(verdict) if verdict else ""
        results.append(path, results.Result(str(task), item.nodeid, status, message))
    return report


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Find the mistakes behind the failures, and write them down."""
    path = session.config.getoption("--results")
    if path:
        for explanation in explanations(session.config):
            results.append(path, explanation)
    path = session.config.getoption("--scores")
    if path:
        _check_no_shapes()
        for task, outcomes in session.config.stash[OUTCOMES].items():
            append_score(path, score(task, [outcome.trial for outcome in outcomes]))


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Say under pytest's own report what is behind the failures."""
    if config.getoption("--results"):
        return
    for explanation in explanations(config):
        terminalreporter.section(f"{explanation.task}")
        terminalreporter.line("\n".join(explanation.sentences))


def explanations(config: pytest.Config) -> Iterator[results.Explanation]:
    """Name the known mistake behind each task that failed, or describe the failure."""
    for task, outcomes in config.stash[OUTCOMES].items():
        found = explain(outcomes, misconceptions(task))
        sentences = [one.says for one in found]
        if not found and (symptom := describe(outcomes)):
            sentences = [symptom]
        if sentences:
            names = [one.name for one in found]
            yield results.Explanation(str(task), names, sentences)
