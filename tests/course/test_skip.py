"""`pdm run skip`: later days work without the learner's own solution."""

import re
import shutil
from collections.abc import Callable

import mlx.core as mx
import pytest
from click.testing import Result

from tiny_llm_course.grading.results import NOT_STARTED, WRONG
from tiny_llm_course.places import Checkout
from tiny_llm_course.solution import Solution
from tiny_llm_course.syllabus import Task, tasks

Run = Callable[[str], Result]
Graded = Callable[..., None]


def marks(result: Result) -> dict[str, str]:
    """Return the status of each required task that `progress` shows, by its title."""
    rows = re.findall(r"\[.\] task \d+  (.*?)  +(.*)", result.stdout)
    return {title: mark for title, mark in rows if "(optional)" not in title}


def test_the_solution_is_put_in_and_works(pdm_run: Run, checkout: Checkout) -> None:
    pdm_run("skip --week 1 --day 1 --task 2")
    pdm_run("skip --week 1 --day 1 --task 1")

    attention = Solution(checkout.starter, "skipped_here").get(
        "attention.SimpleMultiHeadAttention"
    )
    weight, x = mx.eye(4), mx.ones((3, 4))
    y = attention(4, 2, weight, weight, weight, weight)(x, x, x)
    assert mx.allclose(y, x).item()


def test_it_says_what_it_did_and_where_the_copies_are(
    pdm_run: Run, checkout: Checkout
) -> None:
    stub = (checkout.starter / "basics.py").read_text()

    result = pdm_run("skip --week 1 --day 4 --task 2")

    (kept,) = checkout.copies.iterdir()
    assert (result.exit_code, result.stderr) == (0, "")
    assert re.sub(r"py:\d+", "py:N", result.stdout) == (
        "src/tiny_llm/basics.py:N  silu is the course's now\n"
        "src/tiny_llm/qwen2_week1.py:N  Qwen2MLP is the course's now\n"
        "skipped: week 1, day 4, task 2: SiLU and the MLP of Qwen2\n"
        "It builds on week 1, day 1, task 2 (Multi-head attention), which is still to "
        "be done.\n"
        f"The previous versions are in {kept.relative_to(checkout.root)}\n"
    )
    assert (kept / "basics.py").read_text() == stub
    assert (kept / "qwen2_week1.py").exists()


def test_a_day_is_skipped_task_by_task(pdm_run: Run) -> None:
    pdm_run("skip --week 1 --day 4 --task 1")

    result = pdm_run("skip --week 1 --day 4")

    assert result.exit_code == 0
    assert "week 1, day 4, task 1" in result.stdout.splitlines()[0]
    assert "skipped: week 1, day 4, task 2: SiLU" in result.stdout
    skipped = [
        task for task, mark in marks(pdm_run("progress")).items() if "skip" in mark
    ]
    assert skipped == ["RMSNorm", "SiLU and the MLP of Qwen2"]


def test_a_week_is_too_much_to_skip(pdm_run: Run) -> None:
    result = pdm_run("skip --week 1")

    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("skip: expected --week and --day")


def test_what_it_builds_on_is_named_only_while_it_is_open(pdm_run: Run) -> None:
    pdm_run("skip --week 1 --day 1 --task 2")

    assert "builds on" not in pdm_run("skip --week 1 --day 4 --task 2").stdout


def test_progress_shows_it_as_skipped(pdm_run: Run) -> None:
    pdm_run("skip --week 1 --day 4 --task 1")

    assert marks(pdm_run("progress --week 1 --day 4")) == {
        "RMSNorm": "skipped",
        "SiLU and the MLP of Qwen2": "not started",
    }


def test_a_symbol_of_several_tasks_skips_them_all(pdm_run: Run) -> None:
    result = pdm_run("skip --week 1 --day 7 --task 2")

    assert result.stdout.splitlines()[1:4] == [
        "skipped: week 1, day 7, task 1: Temperature",
        "skipped: week 1, day 7, task 2: Top-k",
        "skipped: week 1, day 7, task 3: Top-p",
    ]
    assert set(marks(pdm_run("progress --week 1 --day 7")).values()) == {"skipped"}


def test_a_day_leaves_the_tasks_of_other_days_alone(pdm_run: Run) -> None:
    """Day 5 returns to `quantized_linear`, which was written on Day 3."""
    result = pdm_run("skip --week 2 --day 3")

    marked = re.findall(r"skipped: (week \d, day \d)", result.stdout)
    assert set(marked) == {"week 2, day 3"}
    assert "skipped" not in marks(pdm_run("progress --week 2 --day 5")).values()


@pytest.mark.parametrize("status", ["passed", WRONG, NOT_STARTED])
def test_a_test_run_does_not_turn_it_into_done(
    pdm_run: Run, graded: Graded, status: str
) -> None:
    """Its tests pass with our code, or fail because of what it builds on."""
    pdm_run("skip --week 1 --day 4 --task 1")

    graded("week 1, day 4, task 1", status=status)

    assert marks(pdm_run("progress --week 1 --day 4"))["RMSNorm"] == "skipped"


def test_who_solves_it_after_all_has_done_it(
    pdm_run: Run, checkout: Checkout, graded: Graded
) -> None:
    pdm_run("skip --week 1 --day 4 --task 1")
    path = checkout.starter / "layer_norm.py"
    path.write_text(path.read_text().replace("wide * wide", "mx.square(wide)"))

    before = marks(pdm_run("progress --week 1 --day 4"))["RMSNorm"]
    graded("week 1, day 4, task 1")

    assert before == "changed since it was graded"
    assert marks(pdm_run("progress --week 1 --day 4"))["RMSNorm"] == "done"


def test_reset_undoes_it_to_the_byte(pdm_run: Run, checkout: Checkout) -> None:
    before = {path: path.read_bytes() for path in checkout.starter.iterdir()}

    pdm_run("skip --week 1 --day 1 --task 2")
    pdm_run("reset --week 1 --day 1 --task 2")

    assert {path: path.read_bytes() for path in checkout.starter.iterdir()} == before
    assert set(marks(pdm_run("progress --week 1 --day 1")).values()) == {"not started"}


def test_what_is_skipped_or_done_is_left_alone(
    pdm_run: Run, checkout: Checkout, graded: Graded
) -> None:
    shutil.copy(checkout.reference / "layer_norm.py", checkout.starter)
    graded("week 1, day 4, task 1")
    pdm_run("skip --week 1 --day 4 --task 2")
    before = {path: path.read_bytes() for path in checkout.root.rglob("*.*")}

    done, skipped = (pdm_run(f"skip --week 1 --day 4 --task {one}") for one in (1, 2))

    assert done.stdout == "week 1, day 4, task 1 is done already; nothing was changed\n"
    assert skipped.stdout == (
        "week 1, day 4, task 2 is skipped already; nothing was changed\n"
    )
    assert (done.exit_code, skipped.exit_code) == (0, 0)
    assert {path: path.read_bytes() for path in checkout.root.rglob("*.*")} == before


def test_a_helper_of_the_learner_stays_beside_ours(
    pdm_run: Run, checkout: Checkout
) -> None:
    path = checkout.starter / "attention.py"
    mine = "\n\ndef _split_heads(x):\n    return x\n"
    path.write_text(path.read_text() + mine)

    pdm_run("skip --week 1 --day 1 --task 2")

    assert path.read_text().endswith(mine)
    assert "def _split_heads_of_reference(" in path.read_text()


@pytest.mark.parametrize("task", list(tasks()), ids=lambda task: str(task.address))
def test_every_task_can_be_skipped_whatever_was_written(
    pdm_run: Run, checkout: Checkout, task: Task
) -> None:
    for symbol in task.symbols:
        file, name = symbol.split(".")
        (checkout.starter / f"{file}.py").write_text(f"def {name}(: oh no\n")

    result = pdm_run(f"skip {task.address.options}")

    assert (result.exit_code, result.stderr) == (0, "")
    for symbol in task.symbols:
        file, name = symbol.split(".")
        text = (checkout.starter / f"{file}.py").read_text()
        compile(text, file, "exec")
        assert "todo(" not in text
