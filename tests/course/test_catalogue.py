"""The sentences that learners read: one for each mistake, three hints for each task."""

import tomllib
from pathlib import Path

import pytest

from tiny_llm_course import catalogue
from tiny_llm_course.specimens import Specimen, misconceptions, right_variants
from tiny_llm_course.syllabus import Task, task_at, tasks

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


@pytest.mark.parametrize("one", ALL_MISTAKES, ids=lambda one: one.name)
def test_mistake_has_a_place_in_its_chapter(one: Specimen) -> None:
    chapter, _, anchor = one.anchor.partition("#")

    assert chapter.startswith(f"week-{one.task.week}-day-{one.task.day}-")
    assert anchor == one.name.replace("_", "-")


def test_course_knows_ninety_mistakes_and_forty_right_ways() -> None:
    distinct_mistakes = {one.name for one in ALL_MISTAKES}
    right = {one.name for task in ALL_TASKS for one in right_variants(task.address)}
    rms_norm = next(task for task in ALL_TASKS if "layer_norm.RMSNorm" in task.symbols)

    assert len(distinct_mistakes) >= 90
    assert len(right) >= 40
    assert len(misconceptions(rms_norm.address)) >= 8
