"""`pdm run hint`: three steps to the answer, one at a time."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from tiny_llm_course import catalogue
from tiny_llm_course.catalogue import lines
from tiny_llm_course.places import Checkout
from tiny_llm_course.syllabus import Task, tasks, weeks

Run = Callable[[str], Result]

RMS_NORM = "hint --week 1 --day 4 --task 1"
HINTS = ["Think of lengths.", "Take a mean\nof squares.", "x / sqrt(mean + {eps})"]


@pytest.fixture
def own_hints(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the hints of all tasks by known ones."""
    days = {f"task_{number}": HINTS for number in range(1, 9)}
    real = catalogue.sentences

    def file(path: Path) -> dict[str, object]:
        return {"hints": days} if path.name.startswith("week_") else real(path)

    monkeypatch.setattr(catalogue, "sentences", file)


def level(result: Result) -> int:
    return int(re.findall(r"Hint (\d) of 3", result.stdout)[0])


@pytest.mark.usefixtures("own_hints")
def test_a_hint_says_what_it_is_about_and_how_to_go_on(pdm_run: Run) -> None:
    result = pdm_run(f"{RMS_NORM} --level 2")

    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == (
        "week 1, day 4, task 1: RMSNorm. Hint 2 of 3:\n"
        "\n"
        "Take a mean\n"
        "of squares.\n"
        "\n"
        "The chapter: pdm run book week-1-day-4-rmsnorm-and-mlp#task-1\n"
        "One step further: pdm run hint --week 1 --day 4 --task 1 --level 3\n"
    )


@pytest.mark.usefixtures("own_hints")
def test_the_last_hint_leads_to_the_solution(pdm_run: Run) -> None:
    """Braces in a hint are code, not placeholders."""
    assert pdm_run(f"{RMS_NORM} --level 3").stdout.endswith(
        "\n"
        "x / sqrt(mean + {eps})\n"
        "\n"
        "The chapter: pdm run book week-1-day-4-rmsnorm-and-mlp#task-1\n"
        "That was the last one. The solution: "
        "pdm run solution --week 1 --day 4 --task 1 --spoil\n"
    )


@pytest.mark.usefixtures("own_hints")
def test_each_call_shows_one_level_more(pdm_run: Run) -> None:
    assert [level(pdm_run(RMS_NORM)) for _ in range(4)] == [1, 2, 3, 3]


@pytest.mark.usefixtures("own_hints")
def test_each_task_has_a_level_of_its_own(pdm_run: Run, checkout: Checkout) -> None:
    pdm_run(RMS_NORM)
    pdm_run(RMS_NORM)

    assert level(pdm_run("hint --week 1 --day 4 --task 2")) == 1
    assert json.loads(checkout.progress.read_text())["hints"] == {
        "week 1, day 4, task 1": 2,
        "week 1, day 4, task 2": 1,
    }


@pytest.mark.usefixtures("own_hints")
def test_reading_an_early_hint_again_forgets_nothing(pdm_run: Run) -> None:
    calls = [f"{RMS_NORM} --level 2", f"{RMS_NORM} --level 1", RMS_NORM]

    assert [level(pdm_run(call)) for call in calls] == [2, 1, 3]


@pytest.mark.usefixtures("own_hints")
def test_without_numbers_the_next_task_is_meant(pdm_run: Run) -> None:
    pdm_run("skip --week 1 --day 1 --task 1")

    assert pdm_run("hint").stdout.startswith("week 1, day 1, task 2: ")


@pytest.mark.usefixtures("own_hints")
def test_a_day_with_one_task_needs_no_more_numbers(pdm_run: Run) -> None:
    assert pdm_run("hint --week 1 --day 6").stdout.startswith("week 1, day 6, task 1: ")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            "--week 1 --day 4",
            "hint: week 1, day 4: expected --task as well; there is task 1 (RMSNorm), "
            "task 2 (SiLU and the MLP of Qwen2), task 3 (The norm family), "
            "task 4 (The feed-forward family), task 5 (Pre-norm and post-norm)\n",
        ),
        (
            "--week 1",
            "hint: expected --week, --day and --task; there is week 1 (days 1 to 7), "
            f"week 2 (days 1 to 7 and G1 to {weeks()[1].days[-1].number}), "
            f"week 3 (days 1 to {len(weeks()[2].days)})\n",
        ),
        (
            "--week 1 --day 4 --task 1 --level 4",
            "hint: Invalid value for '--level': 4 is not in the range 1<=x<=3\n",
        ),
    ],
)
def test_misuse_is_told_in_one_line(pdm_run: Run, options: str, message: str) -> None:
    result = pdm_run(f"hint {options}")

    assert (result.exit_code, result.stdout, result.stderr) == (2, "", message)


def test_at_the_end_it_asks_for_which_task(
    pdm_run: Run, checkout: Checkout, graded: Callable[..., None]
) -> None:
    for path in checkout.reference.glob("*.py"):
        shutil.copy(path, checkout.starter)
    shutil.copytree(checkout.reference_kernels, checkout.kernels, dirs_exist_ok=True)
    graded(*(str(task.address) for task in tasks()))

    result = pdm_run("hint")

    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == (
        "hint: all tasks are done; to see a hint say which: --week, --day and --task\n"
    )


@pytest.mark.parametrize("task", list(tasks()), ids=lambda task: str(task.address))
def test_every_task_has_three_hints_that_fit_on_a_screen(task: Task) -> None:
    hints = lines(f"{task.files}.hints.task_{task.address.task}")

    assert len(set(hints)) == 3
    rows = [row for hint in hints for row in hint.strip().splitlines()]
    assert max(map(len, rows)) <= 88
    assert len(rows) <= 36
