"""The syllabus, the solutions and the tests have the same tasks."""

import ast
import importlib
import re
from collections.abc import Iterator

import pytest

from tiny_llm_course import syllabus, todo
from tiny_llm_course.day_number import DayNumber
from tiny_llm_course.errors import CourseError
from tiny_llm_course.places import CHAPTERS, TESTS
from tiny_llm_course.syllabus import (
    Address,
    Day,
    Task,
    Week,
    name_of,
    select_days,
    task_at,
    tasks,
    tasks_of,
    weeks,
)
from tiny_llm_course.unsolved import Unsolved

TASKS = list(tasks())
SYMBOLS = sorted({symbol for task in TASKS for symbol in task.symbols})
DAYS = [day for week in weeks() for day in week.days]
CONTENTS = "there is week 1 (days 1 to 7), week 2 (days 1 to 7), week 3 (days 1 to 7)"

each_task = pytest.mark.parametrize("task", TASKS, ids=lambda task: str(task.address))
each_day = pytest.mark.parametrize("day", DAYS, ids=lambda day: day.chapter)


def names_of_tests(day: Day) -> list[str]:
    """List the tests in the file of a day."""
    texts = [(TESTS / name).read_text(encoding="utf-8") for name in day.test_files]
    nodes = [node for text in texts for node in ast.parse(text).body]
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef)]
    return [one.name for one in functions if one.name.startswith("test_")]


@each_task
def test_an_address_that_is_printed_can_be_read(task: Task) -> None:
    assert Address.parse(str(task.address)) == task.address
    assert task_at(str(task.address)) is task


def test_an_address_is_read_from_the_name_of_a_module() -> None:
    assert Address.parse("week_12_day_3 task_4") == Address(12, 3, 4)


@pytest.mark.parametrize("symbol", SYMBOLS)
def test_every_symbol_is_in_the_reference_solution(symbol: str) -> None:
    file, name = symbol.split(".")

    assert callable(getattr(importlib.import_module(f"tiny_llm_ref.{file}"), name))


def test_the_first_task_of_a_symbol_is_the_one_a_stub_names() -> None:
    numbers = [task.address.task for task in tasks_of("sampler.make_sampler")]

    assert numbers == [1, 2, 3]


@each_day
def test_every_task_has_a_test(day: Day) -> None:
    names = " ".join(names_of_tests(day))
    numbers = [task.address.task for task in day.tasks]

    assert [one for one in numbers if f"test_task_{one}_" not in names] == []


@each_day
def test_every_test_belongs_to_a_task(day: Day) -> None:
    """The name of the test says which one; without it, the test would grade nothing."""
    numbers = "|".join(str(task.address.task) for task in day.tasks)
    expected = re.compile(rf"test_task_({numbers})_")

    assert [name for name in names_of_tests(day) if not expected.match(name)] == []


def test_every_test_file_belongs_to_a_day() -> None:
    files = {path.name for path in TESTS.glob("test_*.py")}

    assert files == {name for day in DAYS for name in day.test_files}


def _numbered(week: Week) -> Iterator[tuple[int, Day]]:
    """Count the days of a week, and then those of the track, from G1 on."""
    track = [day for day in week.days if str(day.number).startswith("G")]
    days = [day for day in week.days if day not in track]
    yield from enumerate(days, 1)
    yield from ((DayNumber(f"G{one}"), day) for one, day in enumerate(track, 1))


def test_weeks_days_and_tasks_are_numbered_from_1() -> None:
    """`pdm run test --week 1 --day 4 --task 1` counts that way."""
    counted = [
        Address(week, day, task)
        for week, one in enumerate(weeks(), 1)
        for day, of_day in _numbered(one)
        for task, _ in enumerate(of_day.tasks, 1)
    ]

    assert [task.address for task in TASKS] == counted


def test_no_two_days_share_a_chapter() -> None:
    chapters = [day.chapter for day in DAYS]

    assert len(set(chapters)) == len(chapters)


def test_only_an_optional_task_has_a_page_of_its_own() -> None:
    """Required tasks are what the chapter of their day is about."""
    of_day = {(day.week, day.number): day.chapter for day in DAYS}

    elsewhere = [
        task
        for task in TASKS
        if task.chapter != of_day[task.address.week, task.address.day]
    ]

    assert all(task.optional for task in elsewhere)


@each_task
def test_the_tests_of_a_task_name_its_page_which_is_there(task: Task) -> None:
    """And the page links to them: that is checked when the book is built."""
    text = (TESTS / task.test_file).read_text(encoding="utf-8")
    docstring = ast.get_docstring(ast.parse(text)) or ""

    assert f"book/en/{task.chapter}.md" in docstring
    assert (CHAPTERS / f"{task.chapter}.md").exists()


@each_task
def test_a_stub_names_its_task_and_the_command_that_grades_it(task: Task) -> None:
    address = task.address
    command = f"pdm run test --week {address.week} --day {address.day}"

    with pytest.raises(Unsolved) as error:
        todo(str(address))

    assert str(error.value) == (
        f"{address} is not started ({task.title}): read `pdm run book {task.chapter}"
        f"#task-{address.task}`, fill in {task.first_file}, then run "
        f"`{command} --task {address.task}`"
    )


def test_days_are_selected_by_week_and_day() -> None:
    assert select_days(None, None) == DAYS
    assert select_days(1, None) == list(weeks()[0].days)
    assert select_days(1, 4) == [weeks()[0].days[3]]


@pytest.mark.parametrize(
    ("week", "day", "complaint"),
    [
        (9, None, "there is no week 9; "),
        (9, 9, "there is no week 9; "),
        (0, None, "there is no week 0; "),
        (1, 9, "there is no day 9 in week 1; "),
        (1, 0, "there is no day 0 in week 1; "),
        (None, 4, "--day 4: expected --week as well; "),
    ],
)
def test_what_does_not_exist_is_answered_with_what_does(
    week: int | None, day: int | None, complaint: str
) -> None:
    with pytest.raises(CourseError) as error:
        select_days(week, day)

    assert str(error.value) == complaint + CONTENTS


def test_the_parts_of_a_task_are_its_kernels_and_what_calls_them() -> None:
    task = Task(
        Address(2, 4, 1),
        "week-2-day-4-matvec-kernel",
        symbols=("quantize.quantized_linear",),
        kernels=("matvec.h:matvec_naive",),
    )

    assert task.parts == ("matvec.h:matvec_naive", "quantize.quantized_linear")
    assert task.first_file == "src/extensions/kernels/matvec.h"
    assert [name_of(part) for part in task.parts] == [
        "matvec_naive",
        "quantized_linear",
    ]


def test_a_kernel_is_found_by_its_name_in_python(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    task = Task(Address(2, 4, 1), "a-chapter", (), kernels=("matvec.h:naive",))
    monkeypatch.setattr(syllabus, "tasks", lambda: iter([task]))

    assert tasks_of("kernels.naive") == tasks_of("matvec.h:naive") == [task]
    assert tasks_of("kernels.matvec") == []
