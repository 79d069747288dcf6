"""A task that is all stubs is known without running a test, and any other is run."""

import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from tiny_llm_course.grading.engine import not_begun, session
from tiny_llm_course.grading.report import assessment
from tiny_llm_course.grading.results import NOT_STARTED, WRONG, Result, Results
from tiny_llm_course.places import Checkout
from tiny_llm_course.syllabus import Task, select_days, task_at, tasks

ALL_TASKS = list(tasks())
RMS_NORM = task_at("week 1, day 4, task 1")
MLP = task_at("week 1, day 4, task 2")
KERNEL = task_at("week 2, day 4, task 1")


def write(folder: Path, file: str, text: str) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / file).write_text(text)
    return folder


def test_no_task_of_the_starter_is_begun(checkout: Checkout) -> None:
    assert not_begun.split(ALL_TASKS, checkout.starter) == ([], ALL_TASKS)


def test_every_task_of_the_reference_is_begun(checkout: Checkout) -> None:
    assert not_begun.split(ALL_TASKS, checkout.reference) == (ALL_TASKS, [])


@pytest.mark.parametrize(
    "text",
    ["class RMSNorm: x = 1\n", "def broken(:\n", "from .mine import RMSNorm\n"],
    ids=["an attempt", "not Python", "from elsewhere"],
)
def test_what_may_be_an_attempt_is_left_to_the_tests(tmp_path: Path, text: str) -> None:
    folder = write(tmp_path / "theirs", "layer_norm.py", text)

    assert not_begun.split([RMS_NORM], folder) == ([RMS_NORM], [])


def test_half_a_task_is_begun(checkout: Checkout) -> None:
    shutil.copy(checkout.reference / "basics.py", checkout.starter)

    assert not_begun.split([MLP], checkout.starter) == ([MLP], [])


@pytest.mark.parametrize(
    "text",
    [
        "class RMSNorm: ...\n",
        "class RMSNorm:\n    def __call__(self, x):\n        pass  # soon\n",
        "def RMSNorm():\n    return None\n",
    ],
)
def test_what_does_nothing_is_not_begun(tmp_path: Path, text: str) -> None:
    folder = write(tmp_path / "theirs", "layer_norm.py", text)

    assert not_begun.split([RMS_NORM], folder) == ([], [RMS_NORM])


@pytest.mark.parametrize("file", ["other.py", "layer_norm.py"])
def test_what_is_not_there_is_not_begun(tmp_path: Path, file: str) -> None:
    folder = write(tmp_path / "theirs", file, "x = 1\n")

    assert not_begun.split([RMS_NORM], folder) == ([], [RMS_NORM])


def test_kernels_that_came_without_their_sources_are_left_to_the_tests(
    tmp_path: Path,
) -> None:
    folder = write(tmp_path / "theirs", "kernels.py", "x = 1\n")

    assert not_begun.split([KERNEL], folder) == ([KERNEL], [])


def test_kernels_that_do_not_compile_are_told_whatever_they_wait_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their tests first build weights, a task of an earlier day."""
    problem = "kernels/matvec.h:23:5: error: 'o' was not declared\n   23 |   o\n"
    monkeypatch.setattr(not_begun, "problem_of", lambda _: problem)
    stub = task_at("week 2, day 3, task 3").not_started()
    waiting = {"test": Result(str(KERNEL.address), "test", NOT_STARTED, stub)}

    told = not_begun.not_compiled([KERNEL, MLP], tmp_path)

    day = select_days(2, 4)
    (report,) = assessment.standings(day, Results(waiting, {}).joined_with(told))
    assert report.status == WRONG
    assert "kernels/matvec.h:23:5: error" in report.failures[0].message


def test_kernels_that_compile_say_nothing(tmp_path: Path) -> None:
    assert not_begun.not_compiled([KERNEL], tmp_path).tests == {}


def test_a_day_of_stubs_is_answered_without_pytest(
    checkout: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise AssertionError("pytest is started")

    monkeypatch.setattr(session, "grade", fail)

    reports = assessment.assess(select_days(1, 4), str(checkout.starter))

    assert [report.status for report in reports] == [NOT_STARTED] * 5


@pytest.mark.parametrize("task", ALL_TASKS, ids=lambda task: str(task.address))
def test_a_task_that_is_all_stubs_is_not_started(task: Task) -> None:
    """A stub may belong to several tasks, and names the first."""
    day = select_days(task.address.week, task.address.day)

    (report,) = assessment.standings(day, not_begun.results_of([task]))

    assert report.status == NOT_STARTED


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], [1, 2, 3, 4, 5]),
        (["-q"], [1, 2, 3, 4, 5]),
        (["-k", "task_2"], [2]),
        (["-ktask_2"], [2]),
        (["-k", "task_9"], []),
        (["-k", "task_1 or task_2"], None),
        (["-k", "float16"], None),
        (["-x"], None),
    ],
)
def test_arguments_that_name_a_task_need_no_pytest(
    arguments: Sequence[str], expected: list[int] | None
) -> None:
    found = assessment.tasks_asked_for(select_days(1, 4), arguments)

    numbers = None if found is None else [task.address.task for task in found]
    assert numbers == expected
