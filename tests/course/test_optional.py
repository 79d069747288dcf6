"""Optional tasks are shown and graded, and block nothing."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

from click.testing import CliRunner, Result

from tiny_llm_course.commands.test import command
from tiny_llm_course.grading.report.exports import write_json, write_junit
from tiny_llm_course.grading.report.standing import TaskReport
from tiny_llm_course.grading.results import NOT_STARTED, PASSED, WRONG
from tiny_llm_course.grading.results import Result as Outcome
from tiny_llm_course.places import REFERENCE, Checkout
from tiny_llm_course.syllabus import task_at, tasks

Run = Callable[[str], Result]
Graded = Callable[..., None]

REQUIRED = [task for task in tasks() if not task.optional]
NORMS = task_at("week 1, day 4, task 3")


def report(address: str, status: str) -> TaskReport:
    task = task_at(address)
    message = task.not_started() if status == NOT_STARTED else "wrong"
    return TaskReport(task, (Outcome(str(task.address), "a test", status, message),))


def test_no_required_task_builds_on_an_optional_one() -> None:
    """A learner who leaves it out can do all the others."""
    foundations = {address for task in REQUIRED for address in task.builds_on}
    optional = {task.address for task in tasks() if task.optional}

    assert foundations & optional == set()


def test_a_day_is_done_without_them(tmp_path: Path) -> None:
    """Its stubs stay, and the run succeeds."""
    folder = tmp_path / "some"
    folder.mkdir()
    for path in REFERENCE.glob("*.py"):
        if path.name not in {f"{one.split('.')[0]}.py" for one in NORMS.symbols}:
            (folder / path.name).write_text(path.read_text("utf-8"), encoding="utf-8")

    arguments = ["--week", "1", "--day", "4", "--solution", str(folder)]
    some = "float32 and (row_of_zeros or silu or task_3)"
    ran = CliRunner().invoke(command, [*arguments, "-k", some])

    assert ran.exit_code == 0
    assert "The norm family (optional)" in ran.stdout
    assert "All done: 2 of 2 tasks" in ran.stdout


def test_who_asks_for_an_untouched_one_is_told_where_to_begin(pdm_run: Run) -> None:
    """It would not do to call it done."""
    said = pdm_run("test --week 2 --day G1").stdout

    assert "All done" not in said
    assert "Next: week 2, day G1, task 1" in said


def test_next_leads_to_one_only_when_asked(
    pdm_run: Run, checkout: Checkout, graded: Graded
) -> None:
    shutil.copytree(checkout.reference, checkout.starter, dirs_exist_ok=True)
    shutil.copytree(checkout.reference_kernels, checkout.kernels, dirs_exist_ok=True)
    graded(*[str(task.address) for task in REQUIRED])

    done = pdm_run("next").stdout
    assert "All is done." in done
    assert "Optional, and open: week 1, day 4, task 3: The norm family" in done
    asked = pdm_run("next --week 1 --day 4").stdout
    assert "Next: week 1, day 4, task 3: The norm family" in asked


def test_a_day_is_skipped_without_them(pdm_run: Run) -> None:
    pdm_run("skip --week 1 --day 4")

    shown = pdm_run("progress --week 1 --day 4").stdout.splitlines()
    (norms,) = [line for line in shown if NORMS.label in line]
    assert norms.endswith("not started")


def test_progress_shows_them_and_does_not_count_them(pdm_run: Run) -> None:
    shown = pdm_run("progress").stdout

    assert "task 3  The norm family (optional)" in shown
    assert f"0 of {len(REQUIRED)} tasks are done." in shown


def test_they_are_no_points_that_a_teacher_takes_away(tmp_path: Path) -> None:
    reports = [
        report("week 1, day 4, task 1", PASSED),
        report("week 1, day 4, task 2", WRONG),
        report("week 1, day 4, task 3", PASSED),
    ]

    write_json(tmp_path / "points.json", "alice", reports)

    points = json.loads((tmp_path / "points.json").read_text(encoding="utf-8"))
    assert (points["points"], points["max_points"]) == (1, 2)
    assert points["optional_points"] == 1
    assert [task["optional"] for task in points["tasks"]] == [False, False, True]


def test_one_that_is_not_started_is_no_failure_for_programs(tmp_path: Path) -> None:
    reports = [
        report("week 1, day 4, task 1", PASSED),
        report("week 1, day 4, task 3", NOT_STARTED),
    ]

    write_junit(tmp_path / "points.xml", "alice", reports)

    assert 'failures="0"' in (tmp_path / "points.xml").read_text(encoding="utf-8")
