"""Crashes, exits and hangs are reported, and the other tasks are graded."""

import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tiny_llm_course.catalogue import say
from tiny_llm_course.errors import CourseError
from tiny_llm_course.grading.engine import session
from tiny_llm_course.grading.engine.launch import Launched, start
from tiny_llm_course.grading.report.assessment import assess
from tiny_llm_course.grading.report.standing import DONE
from tiny_llm_course.grading.results import (
    CRASHED,
    PASSED,
    WRONG,
    Result,
    Results,
    append,
)
from tiny_llm_course.places import REFERENCE
from tiny_llm_course.syllabus import Address, select_days, task_at

DAY_4 = select_days(1, 4)
FEW = ["-k", "not float16 and (row_of_zeros or silu)"]
"""A test of task 1 of day 4, followed by some of task 2."""

LIMIT_S = 3

CRASHES = """
import os, time

class RMSNorm:
    def __init__(self, dim, weight, eps):
        {body}
"""


@pytest.fixture
def with_norm(tmp_path: Path) -> Callable[[str], str]:
    """Return a function that writes a solution with a given `RMSNorm`."""

    def write(body: str) -> str:
        folder = shutil.copytree(REFERENCE, tmp_path / "theirs")
        (folder / "layer_norm.py").write_text(CRASHES.format(body=body))
        return str(folder)

    return write


def outcomes(results: Results, task: int) -> list[tuple[str, str]]:
    """Return status and message of every test of a task of day 4."""
    address = str(Address(1, 4, task))
    found = [one for one in results.tests.values() if one.task == address]
    return [(one.status, one.message) for one in found]


LINE = "  layer_norm.py, line 6, in __init__: "
SAYS_MORE = r"""os.write(2, b'free():\x1b invalid size'); os.abort()"""


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("os._exit(0)", ["  ended the Python interpreter (exit code 0)"]),
        ("os.abort()", ["  ended the Python interpreter (SIGABRT)", LINE]),
        (
            SAYS_MORE,
            [
                "  ended the Python interpreter (SIGABRT)",
                LINE,
                r"  its last output: free():\x1b invalid size",
            ],
        ),
        (
            "while True: time.sleep(1)",
            [r"  had not returned after \d seconds, and was stopped", LINE],
        ),
    ],
    ids=["exit", "abort", "says more", "hang"],
)
def test_a_test_that_does_not_come_back_is_told_and_the_next_task_graded(
    with_norm: Callable[[str], str], body: str, told: list[str]
) -> None:
    """The report has the call and its current line. An exit leaves no line."""
    results = session.grade(DAY_4, with_norm(body), FEW, silence_limit_s=LIMIT_S)

    ((status, message),) = outcomes(results, task=1)
    expected = [one + body if one == LINE else one for one in told]
    assert status == CRASHED
    assert [re.sub(r"after \d", r"after \\d", one) for one in message.splitlines()] == [
        "RMSNorm(6, float32[6], 1e-06)(float32[3, 6])",
        *expected,
        "  in test_task_1_keeps_a_row_of_zeros[cpu-float32]",
    ]
    assert set(outcomes(results, task=2)) == {(PASSED, "")}


def test_a_process_that_ends_after_its_tests_is_told(tmp_path: Path) -> None:
    """Writing past the end of an array may have effects much later."""
    folder = shutil.copytree(REFERENCE, tmp_path / "theirs")
    text = (folder / "layer_norm.py").read_text(encoding="utf-8")
    late = "\nimport atexit, os\natexit.register(os.abort)\n"
    (folder / "layer_norm.py").write_text(text + late, encoding="utf-8")

    (report, *_) = assess(DAY_4, str(folder), FEW)

    assert report.status == DONE
    assert report.remarks == (say("grading.ended_late", how="SIGABRT"),)


def test_results_that_could_not_all_be_written_are_no_verdict() -> None:
    """On a full disk, the first tests may have passed already."""
    result = Result("week 1, day 4, task 1", "a test", PASSED)

    def launch(arguments: Sequence[str]) -> Launched:
        path = Path(arguments[arguments.index("--results") + 1])
        append(path, result)
        path.write_bytes(path.read_bytes() + b'{"task": "week 1, day 4, ')
        return start(["--no-such-option"])

    with pytest.raises(CourseError, match="the tests broke off"):
        session.grade(DAY_4, "ref", launch=launch)


def test_a_verdict_does_not_need_wrong_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where they cannot be compiled or written, nothing is named by them."""

    def no_space(_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(session, "compile_ahead", no_space)

    results = session.grade(DAY_4, "ref", ["-k", "silu"])

    assert {one.status for one in results.tests.values()} == {"passed"}


def test_a_mistake_is_named_though_a_later_task_ends_python(tmp_path: Path) -> None:
    folder = shutil.copytree(REFERENCE, tmp_path / "theirs")
    for file, old, new in [
        ("layer_norm.py", "mean_square + self.eps", "mean_square"),
        ("basics.py", "def silu(", "def silu(x):\n    import os; os.abort()\n\ndef _("),
    ]:
        text = (folder / file).read_text(encoding="utf-8")
        assert old in text
        (folder / file).write_text(text.replace(old, new), encoding="utf-8")

    results = session.grade(DAY_4, str(folder), ["-k", "float32 and (eps or silu)"])

    assert outcomes(results, task=2)[-1][0] == CRASHED
    explained = results.explanations[str(Address(1, 4, 1))]
    assert explained.names == ["eps_forgotten"]
    assert results.tests[explained.test].status == WRONG


@pytest.mark.parametrize(
    ("day", "file", "old", "new", "says"),
    [
        pytest.param(
            4,
            "layer_norm.py",
            "wide * wide, axis=-1",
            "wide * wide, axis=(-2, -1)",
            "`axis=(-2, -1)` stands where `axis=-1` belongs.",
            id="axis 1 fails one vector in the same way, and not two dimensions",
        ),
        pytest.param(
            1,
            "basics.py",
            "y = x @ w.T",
            "y = x @ (w if w.shape[0] == w.shape[1] else w.T)",
            "`w if w.shape[0] == w.shape[1] else w.T` stands where `w.T` is enough.",
            id="attention without `linear` fails in the same way, and has it",
        ),
    ],
)
def test_a_repair_is_told_where_a_known_mistake_explains_some_failures_only(
    tmp_path: Path, day: int, file: str, old: str, new: str, says: str
) -> None:
    path = shutil.copytree(REFERENCE, tmp_path / "theirs") / file
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace(old, new), encoding="utf-8")

    options = ["-k", "float32 or task_2"] if day == 1 else ["-k", "task_1_agrees"]
    results = session.grade(select_days(1, day), str(path.parent), options)

    (told,) = results.explanations.values()
    assert says in told.sentences[0]


@pytest.mark.parametrize(("body", "printed"), [("print(1)", True), ("pass", False)])
def test_what_was_printed_and_not_seen_is_known(
    with_norm: Callable[[str], str], body: str, *, printed: bool
) -> None:
    task = task_at("week 1, day 4, task 1")

    results = session.grade(DAY_4, with_norm(body), FEW, tasks=[task])

    assert {one.printed for one in results.tests.values()} == {printed}


@pytest.mark.parametrize("body", ["breakpoint()", "import pdb; pdb.set_trace()"])
def test_a_debugger_is_told_where_it_works(
    with_norm: Callable[[str], str], body: str
) -> None:
    task = task_at("week 1, day 4, task 1")

    results = session.grade(DAY_4, with_norm(body), FEW, tasks=[task])

    (status, message), *_ = outcomes(results, task=1)
    assert status == WRONG
    assert f"raised BreakpointError: {say('grading.breakpoint')}" in message
    assert f"{LINE}{body}" in message


def test_only_the_tasks_that_are_asked_for_are_graded() -> None:
    task = task_at("week 1, day 4, task 2")

    results = session.grade(DAY_4, "ref", FEW, tasks=[task])

    assert {one.task for one in results.tests.values()} == {str(task.address)}


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (
            ["-k", "no_such_test"],
            "no test matches; leave out -k, or see `pdm run test ",
        ),
        (["--nope"], "pytest ran no test; unrecognized arguments: --nope"),
        (["-n", "2"], "pytest ran no test; unrecognized arguments: -n"),
        (["-k", "task_1 and"], "pytest ran no test; Wrong expression passed to '-k': "),
        (
            ["--maxfail"],
            "pytest ran no test; argument --maxfail: expected one argument",
        ),
    ],
)
def test_what_pytest_does_not_understand_is_one_line(
    arguments: list[str], complaint: str
) -> None:
    with pytest.raises(CourseError) as error:
        session.grade(select_days(1, 6), "ref", arguments)

    assert str(error.value).startswith(complaint)
    assert "\n" not in str(error.value)


def test_garbage_is_collected_while_a_solution_runs(
    with_norm: Callable[[str], str],
) -> None:
    """Before that Python imports what stays, among which there is no garbage."""
    results = session.grade(
        DAY_4, with_norm("import gc; raise ValueError(gc.isenabled())"), FEW
    )

    ((_, message),) = outcomes(results, task=1)
    assert "ValueError: True" in message


@pytest.mark.parametrize(
    ("body", "is_imported"), [("pass", True), (None, False)], ids=["wrong", "right"]
)
def test_who_made_no_mistake_does_not_wait_for_what_names_them(
    with_norm: Callable[[str], str], body: str | None, is_imported: bool
) -> None:
    solution = with_norm(body) if body else "ref"
    arguments = session.pytest_arguments(DAY_4, solution, FEW)
    code = (
        f"import sys, pytest; pytest.main({arguments!r}); "
        "print(sys.modules.keys() & {'tiny_llm_course.grading.diagnosis.below'})"
    )

    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    assert ("diagnosis" in ran.stdout.splitlines()[-1]) == is_imported
