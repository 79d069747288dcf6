"""The pytest plugin: the solution under test, the devices, and what a failure says."""

import os

# On NVIDIA GPUs MLX multiplies float32 matrices in TF32, which has the precision of
# float16. A grader that counts float32 units switches that off, before MLX starts.
os.environ.setdefault("MLX_ENABLE_TF32", "0")

import re
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import mlx.core as mx
import pytest
from jaxtyping import install_import_hook

from tiny_llm_course.errors import CourseError
from tiny_llm_course.grading import results, shapes
from tiny_llm_course.grading.grader import Grader
from tiny_llm_course.grading.verdict import VerdictError
from tiny_llm_course.places import REFERENCE
from tiny_llm_course.solution import Solution, load_solution
from tiny_llm_course.syllabus import Address

DEVICES = [mx.cpu, *([mx.gpu] if mx.is_available(mx.gpu) else [])]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--solution` and `--results`."""
    parser.addoption(
        "--solution",
        default="tiny_llm",
        metavar="PACKAGE_OR_FOLDER",
        help="the solution to grade (default: tiny_llm)",
    )
    parser.addoption(
        "--results",
        type=Path,
        metavar="FILE",
        help="write what comes of each graded test here, and skip those already there",
    )


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
        install_import_hook(found.package, f"{shapes.__name__}.checked")
    return found


@pytest.fixture(params=DEVICES, ids=lambda device: device.name)
def device(request: pytest.FixtureRequest) -> Iterator[mx.DeviceType]:
    """Run the test on every device that MLX offers here."""
    usual = mx.default_device()
    mx.set_default_device(request.param)
    yield request.param
    mx.set_default_device(usual)


@pytest.fixture
def grade(
    request: pytest.FixtureRequest, solution: Solution, device: mx.DeviceType
) -> Grader:
    """Judge the solution under test on one device."""
    del device
    mx.random.seed(0)
    task = task_of(request.node)
    assert task is not None, "a graded test is named test_task_N_... in a day's file"
    return Grader(solution, task)


def task_of(item: pytest.Item) -> Address | None:
    """Return the task that a test grades, by the names of its file and function."""
    name = re.search(r"test_week_(\d+)_day_(\d+)\.py::test_task_(\d+)_", item.nodeid)
    return Address(*map(int, name.groups())) if name else None


def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Leave out the tests that have a result from an earlier process."""
    path = config.getoption("--results")
    if path:
        known = results.read(path)
        items[:] = [item for item in items if item.nodeid not in known]


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Write down which test is running, in case it takes the interpreter with it."""
    path, task = item.config.getoption("--results"), task_of(item)
    if path and task:
        results.append(path, results.Result(str(task), item.nodeid))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[Any]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show a verdict as the text it carries, without a stack trace of ours."""
    report = yield
    verdict = call.excinfo.value if call.excinfo else None
    status = results.PASSED if report.passed else results.WRONG
    if isinstance(verdict, VerdictError):
        status = verdict.status
        report.longrepr = f"{item.name}: {status}\n{verdict}"
    path, task = item.config.getoption("--results"), task_of(item)
    if path and task and (call.when == "call" or not report.passed):
        message = str(verdict) if verdict else ""
        results.append(path, results.Result(str(task), item.nodeid, status, message))
    return report
