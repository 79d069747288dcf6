"""The pytest plugin: the solution under test, the devices, and what a failure says."""

import os

# On NVIDIA GPUs MLX multiplies float32 matrices in TF32, which has the precision of
# float16. A grader that counts float32 units has to switch that off, before MLX starts.
os.environ.setdefault("MLX_ENABLE_TF32", "0")

from collections.abc import Iterator
from typing import Any

import mlx.core as mx
import pytest

from tiny_llm_course.errors import CourseError
from tiny_llm_course.grading.grader import Grader
from tiny_llm_course.grading.verdict import VerdictError
from tiny_llm_course.solution import Solution, load_solution

DEVICES = [mx.cpu, *([mx.gpu] if mx.is_available(mx.gpu) else [])]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--solution`."""
    parser.addoption(
        "--solution",
        default="tiny_llm",
        metavar="PACKAGE_OR_FOLDER",
        help="the solution to grade (default: tiny_llm)",
    )


@pytest.fixture(scope="session")
def solution(request: pytest.FixtureRequest) -> Solution:
    """Load the solution under test."""
    try:
        return load_solution(str(request.config.getoption("--solution")))
    except CourseError as error:
        pytest.exit(str(error), returncode=2)


@pytest.fixture(params=DEVICES, ids=lambda device: device.name)
def device(request: pytest.FixtureRequest) -> Iterator[mx.DeviceType]:
    """Run the test on every device that MLX offers here."""
    usual = mx.default_device()
    mx.set_default_device(request.param)
    yield request.param
    mx.set_default_device(usual)


@pytest.fixture
def grade(solution: Solution, device: mx.DeviceType) -> Grader:
    """Judge the solution under test on one device."""
    del device
    mx.random.seed(0)
    return Grader(solution)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[Any]
) -> Iterator[None]:
    """Show a verdict as the text it carries, without a stack trace of ours."""
    report = yield
    if call.excinfo and isinstance(call.excinfo.value, VerdictError):
        report.longrepr = (
            f"{item.name}: {call.excinfo.value.status}\n{call.excinfo.value}"
        )
        report.user_properties.append(("status", call.excinfo.value.status))
    return report
