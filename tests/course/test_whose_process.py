"""A learner's code runs in a process of its own, and can only end that one."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

import pytest
from click.testing import Result

from tiny_llm_course.grading.engine.launch import Launched
from tiny_llm_course.grading.engine.remarks import library_calls
from tiny_llm_course.grading.report.assessment import assess_tasks
from tiny_llm_course.places import Checkout
from tiny_llm_course.syllabus import task_at
from tiny_llm_course.watching import changed_tasks, read_texts

TASK = task_at("week 1, day 4, task 1")


@pytest.fixture
def seen(checkout: Checkout, tmp_path: Path) -> Path:
    """Return a file that exists as soon as one of the learner's files is run."""
    marker = tmp_path / "was run"
    for path in checkout.starter.glob("*.py"):
        solved = (checkout.reference / path.name).read_text(encoding="utf-8")
        path.write_text(f"open({str(marker)!r}, 'w').close()\n{solved}")
    return marker


@pytest.mark.parametrize(
    "line",
    [
        "next",
        "progress",
        "hint --week 1 --day 4 --task 1",
        "solution --week 1 --day 4 --task 1 --spoil",
        "skip --week 1 --day 4 --task 1",
        "reset --week 1 --day 4 --task 1",
        "update",
    ],
)
def test_commands_read_a_learners_code_and_do_not_run_it(
    pdm_run: Callable[[str], Result], seen: Path, line: str
) -> None:
    ran = pdm_run(line)

    assert ran.exit_code == 0
    assert not seen.exists()


class Launching(Exception):
    """Raised instead of starting a process."""


def test_grading_runs_a_learners_code_in_what_it_launches(
    checkout: Checkout, seen: Path
) -> None:
    def launch(arguments: Sequence[str]) -> Launched:
        del arguments
        fail()

    with pytest.raises(Launching):
        assess_tasks([TASK], str(checkout.starter), launch)

    assert not seen.exists()


def test_watching_and_remarks_read_a_learners_code(
    checkout: Checkout, seen: Path
) -> None:
    texts = read_texts(checkout.starter)

    assert TASK in changed_tasks({}, texts)
    assert library_calls(TASK, checkout.starter) == []
    assert not seen.exists()


def fail() -> NoReturn:
    raise Launching
