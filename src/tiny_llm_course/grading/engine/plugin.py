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
from collections.abc import Generator, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NoReturn

import mlx.core as mx
import pytest

from tiny_llm_course.catalogue import say
from tiny_llm_course.errors import CourseError
from tiny_llm_course.grading import results
from tiny_llm_course.grading.diagnosis.below import comes_from_below
from tiny_llm_course.grading.diagnosis.causes import cause_of
from tiny_llm_course.grading.diagnosis.composing import IN_METAL, compose, first_wrong
from tiny_llm_course.grading.diagnosis.interface import difference
from tiny_llm_course.grading.diagnosis.known_mistakes import (
    Mistake,
    Outcome,
    describe,
    does_the_same,
    explain,
    leaves_some,
)
from tiny_llm_course.grading.diagnosis.repairing import repaired
from tiny_llm_course.grading.diagnosis.which_calls import only_calls
from tiny_llm_course.grading.engine import fence, options
from tiny_llm_course.grading.engine.patience import compile_ahead, keeping_alive
from tiny_llm_course.grading.engine.trace import Trace
from tiny_llm_course.grading.judgement.call import Call
from tiny_llm_course.grading.judgement.grader import NOT_COMPILED, Grader
from tiny_llm_course.grading.judgement.trial import Trial
from tiny_llm_course.grading.judgement.underway import Underway
from tiny_llm_course.grading.judgement.verdict import (
    BreakpointError,
    RaisedEvidence,
    VerdictError,
)
from tiny_llm_course.places import REFERENCE
from tiny_llm_course.solution import NotingSolution, Solution, load_solution
from tiny_llm_course.specimens import Specimen, misconceptions
from tiny_llm_course.syllabus import Address, file_of, task_at
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

OUTCOMES = pytest.StashKey[dict[Address, list[Outcome]]]()
"""The outcomes of all graded tests of this run, by task."""

INTERFACES = pytest.StashKey[dict[Address, tuple[Call, str]]]()
"""By task: the first failing call whose parameters differ from ours, and how."""
UNDERWAY = pytest.StashKey[Underway]()
"""The call that is running, or was run last."""

SOLUTION = pytest.StashKey[Solution]()
"""The solution under test."""

EXPLAINED = pytest.StashKey[dict[tuple[Address, int], list[results.Explanation]]]()
"""What was found out about a task, by it and its number of outcomes."""


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
    """Leave out of garbage collection what is here to stay.

    When it ends, pytest has it looked through five times.
    """
    gc.freeze()


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
            _look_at_interface(pyfuncitem, task)
        raise
    finally:
        if task:
            outcome = Outcome(_trial(pyfuncitem, task), verdict)
            pyfuncitem.config.stash[OUTCOMES].setdefault(task, []).append(outcome)


def _look_at_interface(item: pytest.Function, task: Address) -> None:
    """Note whether the function that failed has other parameters than ours."""
    grader = item.funcargs["grade"]
    assert isinstance(grader, Grader)
    for call in grader.calls[-1:]:
        if told := difference(call, grader.solution):
            item.config.stash[INTERFACES].setdefault(task, (call, told))


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
    if path and task and is_over:
        with keeping_alive(path) if _is_in_metal(task) else nullcontext():
            explained = _explained(item.config, task)
        for explanation in explained:
            results.append(path, explanation)


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Note that all results are written, then run mistakes that may crash Python."""
    path = session.config.getoption("--results")
    if path and exitstatus in ALL_RAN:
        results.append(path, results.Ending())
        for explanation in _composed(session.config):
            results.append(path, explanation)


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Add the explanations to pytest's own report."""
    if config.getoption("--results"):
        return
    for explanation in explanations(config):
        terminalreporter.section(f"{explanation.task}")
        terminalreporter.line("\n".join(explanation.sentences))


def explanations(config: pytest.Config) -> Iterator[results.Explanation]:
    """Name the mistake in each task that failed, or describe the failure.

    Composed mistakes come last: they run hundreds of wrong solutions, and if one
    crashes the interpreter, the results before it have been written.
    """
    for task in config.stash[OUTCOMES]:
        yield from _explained(config, task)
    yield from _composed(config)


def _explained(config: pytest.Config, task: Address) -> list[results.Explanation]:
    """Return what explains the failures of a task so far, and work it out once."""
    known = config.stash[EXPLAINED]
    key = task, len(config.stash[OUTCOMES].get(task, []))
    if key not in known:
        known[key] = list(_explain(config, task))
    return known[key]


def _explain(config: pytest.Config, task: Address) -> Iterator[results.Explanation]:
    """Name the known mistake in a task, or describe how it fails, if that helps.

    What is gone with our parts of the tasks below is no mistake of this task.
    """
    outcomes = config.stash[OUTCOMES].get(task, [])
    failed = [one for one in outcomes if one.verdict and one.verdict.evidence]
    if failed and all(_is_no_metal(one) for one in failed):
        return  # The compiler has said what is wrong.
    if comes_from_below(outcomes, task, config.stash[SOLUTION]):
        return
    if failed and _is_in_metal(task):
        compile_ahead(misconceptions(task), failed[0].trial)
    found = explain(outcomes, misconceptions(task))
    names, sentences = [one.name for one in found], [one.says for one in found]
    if told := _interface(config, task, found):
        names, sentences = [results.INTERFACE], [told]
    elif not found and (cause := cause_of(outcomes)):
        names, sentences = [cause.name], [cause.says]
    elif not found and (symptom := describe(outcomes)):
        sentences = [symptom]
    if sentences:
        test = _first_explained(outcomes, found)
        yield results.Explanation(str(task), names, sentences, test)


def _is_no_metal(outcome: Outcome) -> bool:
    """Tell whether a test has failed since a kernel was not compiled."""
    error = outcome.verdict.evidence if outcome.verdict else None
    return isinstance(error, RaisedEvidence) and error.kind == NOT_COMPILED


def _is_in_metal(task: Address) -> bool:
    """Tell whether each known mistake of a task has a kernel to be compiled."""
    return any(one.startswith(IN_METAL) for one in task_at(task).symbols)


def _composed(config: pytest.Config) -> Iterator[results.Explanation]:
    """Find the change that explains each failed task that no known mistake explains.

    Of the solution's own text, if that makes it right, or else of the reference. The
    first also takes the place of a known mistake that explains some failures only. If
    nothing else is known either, say which calls are wrong.
    """
    for task, outcomes in config.stash[OUTCOMES].items():
        explained = _explained(config, task)
        names = [name for one in explained for name in one.names]
        named = [one for one in misconceptions(task) if one.name in names]
        if names and not any(_is_part(one, outcomes, task) for one in named):
            continue
        if not names and comes_from_below(outcomes, task, config.stash[SOLUTION]):
            continue
        repair = repaired(outcomes, task, config.stash[SOLUTION])
        if repair and not (names and repair.left):
            test = next(one.trial.test for one in outcomes if one.verdict)
            yield results.Explanation(str(task), [repair.name], [repair.says], test)
        elif not names and (one := compose(outcomes, task)):
            test = _first_explained(outcomes, [one])
            yield results.Explanation(str(task), [one.name], [one.says], test)
        elif not explained and (told := only_calls(outcomes, task)):
            yield results.Explanation(str(task), [], [told])


def _is_part(one: Specimen, outcomes: Sequence[Outcome], task: Address) -> bool:
    """Tell whether a known mistake leaves failures, or another name is wrong first."""
    symbol, _ = first_wrong(outcomes, task)
    return one.symbol != symbol or leaves_some(one, outcomes)


def _first_explained(outcomes: Sequence[Outcome], found: Sequence[Mistake]) -> str:
    """Return the first failing test in which a mistake does what the solution did."""
    for outcome in outcomes:
        if outcome.verdict and any(does_the_same(one, outcome) for one in found):
            return outcome.trial.test
    return ""


def _interface(config: pytest.Config, task: Address, found: Sequence[Specimen]) -> str:
    """Return which parameter of a task differs, unless that is the mistake found."""
    if task not in config.stash[INTERFACES]:
        return ""
    call, told = config.stash[INTERFACES][task]
    is_known = any(difference(call, one.as_solution()) for one in found)
    return "" if is_known else told
