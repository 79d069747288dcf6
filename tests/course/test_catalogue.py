"""The sentences that learners read: one for each mistake, three hints for each task."""

import importlib
import importlib.util
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from tiny_llm_course import catalogue
from tiny_llm_course.records.record import Record
from tiny_llm_course.specimens import Specimen, accepted, misconceptions
from tiny_llm_course.syllabus import Address, Task, task_at, tasks

ALL_TASKS = list(tasks())
ALL_MISTAKES = [one for task in ALL_TASKS for one in misconceptions(task.address)]
ENGLISH = Path(catalogue.__file__).parent / "en"


@pytest.mark.parametrize("one", ALL_MISTAKES, ids=lambda one: one.name)
def test_mistake_is_explained_in_two_lines(one: Specimen) -> None:
    lines = one.says.splitlines()

    assert 1 <= len(lines) <= 2
    assert all(len(line) <= 88 for line in lines)


@pytest.mark.parametrize("files", sorted({task.files for task in ALL_TASKS}))
def test_every_sentence_belongs_to_a_mistake(files: str) -> None:
    text = (ENGLISH / f"{files}.toml").read_text(encoding="utf-8")

    written = set(tomllib.loads(text)["misconceptions"])

    known = {one.name for one in ALL_MISTAKES if task_at(one.task).files == files}
    assert written == known


@pytest.mark.parametrize("task", ALL_TASKS, ids=lambda task: str(task.address))
def test_task_has_three_hints_each_longer_than_a_word(task: Task) -> None:
    hints = catalogue.lines(f"{task.files}.hints.task_{task.address.task}")

    assert len(hints) == 3
    assert all(len(hint.split()) > 5 for hint in hints)


@pytest.mark.parametrize("task", ALL_TASKS, ids=lambda task: str(task.address))
def test_course_knows_wrong_and_right_ways_of_every_task(task: Task) -> None:
    assert len(misconceptions(task.address)) >= 4
    assert len(accepted(task.address)) >= 2


@pytest.mark.parametrize("files", sorted({task.files for task in ALL_TASKS}))
@pytest.mark.parametrize("known", [misconceptions, accepted])
def test_all_that_is_public_in_a_module_of_known_solutions_belongs_to_a_task(
    known: Callable[[Address], tuple[Specimen, ...]], files: str
) -> None:
    """One that is not marked would silently never be run."""
    name = f"tiny_llm_course.{known.__name__}.{files}"
    if not importlib.util.find_spec(name):
        pytest.skip("all of this day are records")
    module = importlib.import_module(name)

    written = {
        value
        for name, value in vars(module).items()
        if getattr(value, "__module__", "") == module.__name__
        and callable(value)
        and not name.startswith("_")
    }

    of_files = [task for task in ALL_TASKS if task.files == files]
    run = {one.implementation for task in of_files for one in known(task.address)}
    assert written == {one for one in run if not isinstance(one, Record)}
