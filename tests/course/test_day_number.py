"""Days of the track for GPUs are numbered G1 to G5, wherever a day has a number."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from click.testing import CliRunner, Result

from tiny_llm_course import syllabus
from tiny_llm_course.commands.test import command
from tiny_llm_course.day_number import DayNumber
from tiny_llm_course.errors import CourseError
from tiny_llm_course.grading.engine.plugin import task_of
from tiny_llm_course.grading.report.exports import write_json, write_junit
from tiny_llm_course.grading.report.standing import TaskReport
from tiny_llm_course.syllabus import Address, select_days, task_at

Run = Callable[[str], Result]

SYLLABUS = {
    "given": {},
    "weeks": [
        {
            "number": 2,
            "days": [
                {"number": 1, "chapter": "one", "tasks": [{"number": 1}]},
                {
                    "number": "G1",
                    "chapter": "week-2-day-g1-threads",
                    "optional": True,
                    "tasks": [
                        {"number": 1, "symbols": ["metal_sums.one"]},
                        {
                            "number": 2,
                            "symbols": ["metal_sums.two"],
                            "builds_on": ["day G1, task 1"],
                        },
                    ],
                },
                {"number": "G2", "chapter": "two", "tasks": []},
            ],
        }
    ],
}
TITLES = {
    "week_2": "Fast",
    "week_2_day_g1": "Threads",
    "week_2_day_g1_task_1": "A thread",
    "week_2_day_g1_task_2": "A group",
}


@pytest.fixture
def small(
    monkeypatch: pytest.MonkeyPatch, entitle: Callable[..., None]
) -> Iterator[None]:
    """Let the course be a day of the CPU and two of the GPU's track."""
    entitle(**TITLES)
    monkeypatch.setattr(syllabus, "_read", lambda: SYLLABUS)
    syllabus.weeks.cache_clear()
    yield
    monkeypatch.undo()
    syllabus.weeks.cache_clear()


def test_the_track_comes_after_all_other_days() -> None:
    days = [DayNumber("g2"), DayNumber("7"), DayNumber("G1"), DayNumber(1)]

    assert [f"{day}" for day in sorted(days)] == ["1", "7", "G1", "G2"]
    assert f"{DayNumber('g1'):>4}" == "  G1"


@pytest.mark.parametrize("written", ["", "x", "G", "g1x", "1001", "-1", "1.0"])
def test_what_is_no_day_is_refused(written: str) -> None:
    with pytest.raises(ValueError, match=f"^{written}$"):
        DayNumber(written)


@pytest.mark.parametrize(
    "written", ["week 2, day G1, task 3", "week_2_day_g1 3", "week_2_day_g1::task_3"]
)
def test_an_address_of_the_track_is_read(written: str) -> None:
    address = Address.parse(written)

    assert str(address) == "week 2, day G1, task 3"
    assert address.options == "--week 2 --day G1 --task 3"
    assert Address(**json.loads(json.dumps(vars(address)))) == address


@pytest.mark.usefixtures("small")
def test_the_tasks_of_an_optional_day_share_its_files() -> None:
    first, second = select_days(2, DayNumber("G1"))[0].tasks

    assert (first.optional, second.optional) == (True, True)
    assert {first.files, second.files} == {"week_2_day_g1"}
    assert first.test_file == "test_week_2_day_g1.py"
    assert second.title == "A group"
    assert second.builds_on == (first.address,)
    assert second.test_command == "pdm run test --week 2 --day G1 --task 2"
    assert second.chapter_command() == "pdm run book week-2-day-g1-threads#task-2"


@pytest.mark.usefixtures("small")
def test_what_does_not_exist_is_answered_with_both_kinds_of_days() -> None:
    with pytest.raises(CourseError) as error:
        select_days(2, DayNumber("G7"))

    expected = "there is no day G7 in week 2; there is week 2 (days 1 and G1 to G2)"
    assert str(error.value) == expected


@pytest.mark.usefixtures("small")
def test_programs_are_told_the_name_of_the_day(tmp_path: Path) -> None:
    reports = [TaskReport(task_at("week 2, day G1, task 1"), ())]

    write_json(tmp_path / "points.json", "alice", reports)
    write_junit(tmp_path / "points.xml", "alice", reports)

    points = json.loads((tmp_path / "points.json").read_text(encoding="utf-8"))
    assert points["tasks"][0]["day"] == "G1"
    xml = (tmp_path / "points.xml").read_text(encoding="utf-8")
    assert 'classname="week 2, day G1"' in xml


def test_a_test_of_the_track_belongs_to_its_task() -> None:
    node = "tests/test_week_2_day_g1.py::test_task_2_sums_rows[cpu]"
    item = cast("Any", SimpleNamespace(nodeid=node))

    assert task_of(item) == Address.parse("week 2, day G1, task 2")


@pytest.mark.parametrize("day", ["x", "g", "2000"])
def test_a_day_that_is_none_is_one_line(day: str) -> None:
    ran = CliRunner().invoke(command, ["--week", "2", "--day", day])

    assert ran.exit_code == 2
    assert ran.stderr == (
        f"test: Invalid value for '--day': {day} is not a day, such as 4 or G1\n"
    )


def test_a_day_of_the_track_that_is_missing_is_named_so(pdm_run: Run) -> None:
    ran = pdm_run("progress --week 1 --day g9")

    assert ran.exit_code == 2
    assert "there is no day G9 in week 1" in ran.stderr
