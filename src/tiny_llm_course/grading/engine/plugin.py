"""The pytest plugin: fixtures for solution and device, and reports of failures."""

import gc
import os

# On NVIDIA GPUs MLX multiplies float32 matrices in TF32, which has the precision of
# float16. A grader that counts ULPs of float32 switches that off, before MLX starts.
os.environ.setdefault("MLX_ENABLE_TF32", "0")

# Days before the kernels must not depend on whether kernels are built.
os.environ.setdefault("TINY_LLM_KERNELS", "none")

# C++ kernels run with guard zones around the arrays that they read and write.
os.environ.setdefault("TINY_LLM_WATCH", "1")

import logging
import pdb
import re
import sys
from collections.abc import Generator, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NoReturn

import mlx.core as mx
import pytest

from tiny_llm_course.catalogue import say
from tiny_llm_course.errors import CourseError
from tiny_llm_course.grading import results
from tiny_llm_course.grading.engine import fence, options
from tiny_llm_course.grading.engine.stash import (
    EXPLAINED,
    INTERFACES,
    OUTCOMES,
    SOLUTION,
    UNDERWAY,
    failed_tasks,
)
from tiny_llm_course.grading.engine.trace import Trace
from tiny_llm_course.grading.judgement.grader import Grader
from tiny_llm_course.grading.judgement.trial import Outcome, Trial
from tiny_llm_course.grading.judgement.underway import Underway
from tiny_llm_course.grading.judgement.verdict import (
    BreakpointError,
    VerdictError,
)
from tiny_llm_course.places import REFERENCE
from tiny_llm_course.solution import NotingSolution, Solution, load_solution
from tiny_llm_course.syllabus import Address, file_of
from tiny_llm_course.untrusted import MAX_LENGTH, words_of

ALL_RAN = {
    pytest.ExitCode.OK,
    pytest.ExitCode.TESTS_FAILED,
    pytest.ExitCode.NO_TESTS_COLLECTED,
}
"""Exit codes of runs in which pytest itself worked."""

PRINTING_FILES = {"generate.py"}
"""Files whose tasks ask for printing."""

ONLY_CPU = os.environ.get("TINY_LLM_DEVICES") == "cpu"
"""The book sets this, so that its output is the same with a GPU and without."""

DEVICES = [mx.cpu, *([mx.gpu] if mx.is_available(mx.gpu) and not ONLY_CPU else [])]

METAL_KERNEL: Any = mx.fast.metal_kernel
"""MLX's own. While a solution is graded, another takes its place."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the plugin's options."""
    options.add(parser)


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Reset the outcomes, and set up the trace files of this process.

    Runs last, to override pytest's own crash handler, which writes stacks elsewhere.
    """
    mx.fast.metal_kernel = _metal_kernel
    logging.getLogger().addHandler(logging.NullHandler())  # or Python prints warnings
    config.stash[OUTCOMES] = {}
    config.stash[EXPLAINED] = {}
    config.stash[INTERFACES] = {}
    path = config.getoption("--results")
    config.stash[UNDERWAY] = Underway(Trace(path).note if path else None)
    if path:
        Trace(path).leave_stack()
        sys.breakpointhook = pdb.set_trace = _nobody_to_ask
    if scratch := config.getoption(fence.OPTION):
        fence.enter(scratch, has_gpu=len(DEVICES) > 1)


def _metal_kernel(*definition: Any, **options: Any) -> object:  # noqa: ANN401
    """Take the place of `mx.fast.metal_kernel`. Few days need what it imports."""
    from tiny_llm_course.metal.graded import graded_kernel

    of_mlx = METAL_KERNEL if mx.metal.is_available() else None
    return graded_kernel(of_mlx, *definition, **options)


def _nobody_to_ask(*_: object, **__: object) -> NoReturn:
    """Replace the debugger, which would wait for input forever."""
    raise BreakpointError(say("grading.breakpoint"))


@pytest.fixture(scope="session")
def solution(request: pytest.FixtureRequest) -> Iterator[Solution]:
    """Load the solution under test, and record which of its imports failed.

    The reference's annotations (types and shapes) are checked at every call. A
    learner's are not: such an error would hide the explanation of the mistake.
    """
    try:
        found = load_solution(str(request.config.getoption("--solution")))
    except CourseError as error:
        pytest.exit(str(error), returncode=2)
    request.config.stash[SOLUTION] = found
    with _shapes_checked(found.package) if found.folder == REFERENCE else nullcontext():
        yield found
    if path := request.config.getoption("--results"):
        for one in found.failed_imports:
            results.append(path, one)


def _shapes_checked(package: str) -> AbstractContextManager[object]:
    """Check the annotations of what is imported of a package, at every call."""
    from jaxtyping import install_import_hook

    from tiny_llm_course.grading.engine import shapes  # imports beartype

    return install_import_hook(package, f"{shapes.__name__}.checked")


@pytest.fixture(params=DEVICES, ids=lambda device: device.name)
def device(request: pytest.FixtureRequest) -> mx.DeviceType:
    """Run the test on each device that MLX offers here."""
    return request.param


@pytest.fixture
def grade(
    request: pytest.FixtureRequest, solution: Solution, device: mx.DeviceType
) -> Iterator[Grader]:
    """Judge the solution under test on one device."""
    usual = mx.default_device()
    mx.set_default_device(device)
    mx.random.seed(0)
    yield Grader(NotingSolution(solution), request.config.stash[UNDERWAY])
    mx.set_default_device(usual)


def task_of(item: pytest.Item) -> Address | None:
    """Return the task that a test grades, by the names of its file and function."""
    file = r"test_(week_\d+_day_g?\d+)(?:_task_\d+)?\.py"
    name = re.search(rf"{file}::test_(task_\d+)_", item.nodeid)
    return Address.parse(" ".join(name.groups())) if name else None


def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Deselect other tasks, and tests that an earlier process has finished."""
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


def pytest_collection_finish() -> None:
    """Leave out of garbage collection what is here to stay, and let it begin.

    When it ends, pytest has it looked through five times.
    """
    gc.freeze()
    gc.enable()


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Record which test is running, in case it crashes the interpreter."""
    path, task = item.config.getoption("--results"), task_of(item)
    if path and task:
        results.append(path, results.Result(str(task), item.nodeid))


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(
    pyfuncitem: pytest.Function,
) -> Generator[None, object, object]:
    """Keep the outcome of a graded test, with what it takes to run it again."""
    task = task_of(pyfuncitem)
    verdict: VerdictError | None = None
    try:
        return (yield)
    except VerdictError as error:
        verdict = error
        if task and error.status == results.WRONG:
            _naming().look_at_interface(pyfuncitem, task)
        raise
    finally:
        if task:
            outcome = Outcome(_trial(pyfuncitem, task), verdict)
            pyfuncitem.config.stash[OUTCOMES].setdefault(task, []).append(outcome)


def _naming():  # noqa: ANN202 - that module, as type checkers see
    """Import what names mistakes. One who has made none does not wait for it."""
    from tiny_llm_course.grading.engine import naming

    return naming


def _trial(item: pytest.Function, task: Address) -> Trial:
    """Return a test as a trial, with all its arguments but the grader."""
    arguments = dict(item.callspec.params)
    device = arguments.pop("device")
    assert isinstance(device, mx.DeviceType)
    grade: Any = item.funcargs["grade"]
    symbols = frozenset[str](grade.solution.symbols)
    return Trial(task, item.nodeid, item.obj, arguments, device, symbols)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[Any]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show a verdict as its text, without our stack trace.

    pytest is not told of it: for each it would read the lines of a whole stack.
    """
    excinfo = call.excinfo
    verdict = excinfo.value if excinfo else None
    if isinstance(verdict, VerdictError):
        call.excinfo = None
    report = yield
    call.excinfo = excinfo
    if report.skipped:
        return report
    status = results.PASSED if report.passed else results.WRONG
    if isinstance(verdict, VerdictError):
        status, report.outcome = verdict.status, "failed"
        report.longrepr = f"{item.name}: {status}\n{words_of(verdict, MAX_LENGTH)}"
    path, task = item.config.getoption("--results"), task_of(item)
    if path and task and (call.when == "call" or not report.passed):
        message = words_of(verdict, MAX_LENGTH) if verdict else ""
        called, has_printed = _called(item), _has_printed(item, report)
        found = results.Result(
            str(task), item.nodeid, status, message, called, has_printed
        )
        results.append(path, found)
    return report


def _called(item: pytest.Item) -> tuple[str, ...]:
    """Return the public names that a test has called."""
    grader = getattr(item, "funcargs", {}).get("grade")
    calls = grader.calls if isinstance(grader, Grader) else []
    return tuple(dict.fromkeys(call.symbol for call in calls))


def _has_printed(item: pytest.Item, report: pytest.TestReport) -> bool:
    """Tell whether a solution has printed anything that was not asked for."""
    last = item.config.stash[UNDERWAY].last
    prints = last is not None and file_of(last.symbol) in PRINTING_FILES
    return bool(report.capstdout or report.capstderr) and not prints


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Name a task's mistake as soon as its tests are over: the next task may crash."""
    path, task = item.config.getoption("--results"), task_of(item)
    is_over = nextitem is None or task_of(nextitem) != task
    if path and is_over and task in failed_tasks(item.config):
        for explanation in _naming().explained_in_time(item.config, task, path):
            results.append(path, explanation)


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Note that all results are written, then run mistakes that may crash Python."""
    path = session.config.getoption("--results")
    if path and exitstatus in ALL_RAN:
        results.append(path, results.Ending())
        if failed_tasks(session.config):
            for explanation in _naming().composed(session.config):
                results.append(path, explanation)


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Add the explanations to pytest's own report."""
    if config.getoption("--results") or not failed_tasks(config):
        return
    for explanation in _naming().explanations(config):
        terminalreporter.section(f"{explanation.task}")
        terminalreporter.line("\n".join(explanation.sentences))
