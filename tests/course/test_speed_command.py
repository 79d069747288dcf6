"""The verdict on speed that `pdm run test` prints, and what switches it off."""

import pytest
from click.testing import CliRunner

from tiny_llm_course.commands import speed as speeding
from tiny_llm_course.commands import test as grading
from tiny_llm_course.errors import CourseError
from tiny_llm_course.grading.report.standing import WRONG, TaskReport
from tiny_llm_course.grading.results import PASSED, Result
from tiny_llm_course.speed import judging, words
from tiny_llm_course.speed.verdict import Verdict
from tiny_llm_course.syllabus import tasks


def test_speed_of_a_day_without_kernels_is_one_line() -> None:
    ran = CliRunner().invoke(speeding.command, ["--week", "1", "--day", "1"])

    assert ran.exit_code == 2
    assert len(ran.stderr.splitlines()) == 1
    assert "Day 4" in ran.stderr


@pytest.fixture
def graded(monkeypatch: pytest.MonkeyPatch) -> list[TaskReport]:
    """Return the reports of a day that is done, which the command `test` then finds."""
    reports = [
        TaskReport(task, (Result(str(task.address), "a test", PASSED),))
        for task in tasks()
        if (task.address.week, task.address.day) == (2, 4)
    ]
    monkeypatch.setattr(grading, "_graded", lambda *_, **__: reports)
    monkeypatch.setattr(grading, "look_at_kernels", lambda *_, **__: None)
    return reports


def test_what_keeps_kernels_from_being_timed_is_no_failure(
    graded: list[TaskReport], monkeypatch: pytest.MonkeyPatch
) -> None:
    def judge(*_: object) -> list[Verdict]:
        raise CourseError("no compiler")

    monkeypatch.setattr(judging, "judge", judge)
    assert graded

    asked = ["--week", "2", "--day", "4", "--solution", "ref", "--speed"]
    ran = CliRunner().invoke(grading.command, asked)

    assert ran.exit_code == 0
    assert ran.stderr == "Speed: not measured, since no compiler\n"


@pytest.mark.parametrize(
    ("arguments", "setting", "is_timed"),
    [
        ([], "", True),
        (["--no-speed"], "", False),
        ([], "0", False),
        (["--solution", "ref"], "", False),
        (["--solution", "ref", "--speed"], "", True),
    ],
)
def test_speed_is_told_of_the_learners_own_kernels_unless_it_is_switched_off(
    graded: list[TaskReport],
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    setting: str,
    is_timed: bool,
) -> None:
    told: list[object] = []
    monkeypatch.setattr(grading, "tell_speeds", lambda *given: told.append(given))

    asked = ["--week", "2", "--day", "4", *arguments]
    ran = CliRunner().invoke(grading.command, asked, env={"TINY_LLM_SPEED": setting})

    assert ran.exit_code == 0
    assert [given[0] for given in told] == ([graded] if is_timed else [])  # type: ignore[index]


def test_speed_waits_until_nothing_is_wrong(
    graded: list[TaskReport], monkeypatch: pytest.MonkeyPatch
) -> None:
    task = graded[0].task
    wrong = TaskReport(task, (Result(str(task.address), "a test", WRONG),))
    monkeypatch.setattr(grading, "_graded", lambda *_, **__: [wrong, *graded])
    monkeypatch.setattr(grading, "tell_speeds", pytest.fail)

    ran = CliRunner().invoke(grading.command, ["--week", "2", "--day", "4"])

    assert ran.exit_code == 1


def test_verdict_on_speed_follows_under_a_heading(
    graded: list[TaskReport], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judging, "judge", lambda *_: [object()])
    monkeypatch.setattr(words, "short", lambda _: ["the verdict on task 2"])
    monkeypatch.setattr(words, "busy", lambda _: [])
    assert graded

    asked = ["--week", "2", "--day", "4", "--solution", "ref", "--speed"]
    ran = CliRunner().invoke(grading.command, asked)

    command = "pdm run speed --week 2 --day 4 --solution ref"
    assert ran.stdout.splitlines() == [
        "",
        f"Speed, timed in turns with ours ({command} shows more):",
        "the verdict on task 2",
        "",
    ]
