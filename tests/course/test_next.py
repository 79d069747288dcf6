"""`pdm run next`: where the learner is, and what to do there."""

import shutil
from collections.abc import Callable

import pytest
from click.testing import Result

from tiny_llm_course.editing.plans import plan
from tiny_llm_course.editing.saving import write
from tiny_llm_course.grading.results import WRONG
from tiny_llm_course.places import Checkout
from tiny_llm_course.syllabus import tasks

Run = Callable[[str], Result]
Graded = Callable[..., None]

REQUIRED = sum(not task.optional for task in tasks())
BEGINNING = f"""\
0 of {REQUIRED} tasks are done.

Next: week 1, day 1, task 1: Softmax and scaled dot-product attention (not started)
  read   pdm run book week-1-day-1-attention#task-1
  write  src/tiny_llm/basics.py:9  softmax
  write  src/tiny_llm/attention.py:15  scaled_dot_product_attention_simple
  test   pdm run test --week 1 --day 1 --task 1
  stuck  pdm run hint --week 1 --day 1 --task 1
"""


def solve(checkout: Checkout, *files: str) -> None:
    """Write what a learner could have written."""
    for file in files:
        shutil.copy(checkout.reference / file, checkout.starter)


def solve_day_7(checkout: Checkout) -> None:
    """Write the sampler, and nothing that Week 3 adds to its file."""
    write(plan(checkout, ["sampler.make_sampler"], to_stub=False), checkout.copies)


def line(result: Result, start: str) -> str:
    """Return the rest of the output line that begins with `start`."""
    (found,) = [one for one in result.stdout.splitlines() if one.startswith(start)]
    return found.removeprefix(start)


def test_the_first_task_comes_first(pdm_run: Run) -> None:
    result = pdm_run("next")

    assert (result.exit_code, result.stdout, result.stderr) == (0, BEGINNING, "")


def test_the_line_is_that_of_the_definition(pdm_run: Run, checkout: Checkout) -> None:
    """Terminals and editors open it with a click."""
    place = line(pdm_run("next"), "  write  src/tiny_llm/attention.py:").split()[0]

    text = (checkout.starter / "attention.py").read_text().splitlines()
    assert text[int(place) - 1] == "def scaled_dot_product_attention_simple("


def test_what_is_done_or_skipped_is_behind(
    pdm_run: Run, checkout: Checkout, graded: Graded
) -> None:
    solve(checkout, "basics.py", "attention.py")
    graded("week 1, day 1, task 1", "week 1, day 1, task 2")
    pdm_run("skip --week 1 --day 2 --task 1")

    result = pdm_run("next --week 1")

    assert result.stdout.startswith(f"2 of {REQUIRED} tasks are done, 2 skipped.\n")
    assert line(result, "Next: ").startswith("week 1, day 3, task 1: Grouped attention")


def test_a_wrong_task_is_next_again(
    pdm_run: Run, checkout: Checkout, graded: Graded
) -> None:
    solve(checkout, "basics.py", "attention.py")
    graded("week 1, day 1, task 1", status=WRONG)

    assert line(pdm_run("next"), "Next: ").endswith("dot-product attention (wrong)")


def test_changed_tasks_can_be_graded_all_at_once(
    pdm_run: Run, checkout: Checkout
) -> None:
    """After a new version of the grader, one command makes them done again."""
    solve_day_7(checkout)

    result = pdm_run("next --week 1 --day 7")

    assert line(result, "3 tasks have changed since they were graded") == (
        "; to grade all: pdm run test"
    )
    assert line(result, "Next: ").endswith("Temperature (changed since it was graded)")


def test_a_day_that_is_done_leads_to_the_first_open_one(
    pdm_run: Run, checkout: Checkout, graded: Graded
) -> None:
    solve_day_7(checkout)
    graded(*(f"week 1, day 7, task {number}" for number in (1, 2, 3)))

    result = pdm_run("next --week 1 --day 7")

    _, _, after = BEGINNING.partition("\n\n")
    assert result.stdout.endswith(f"\n\nNothing is left to do there.\n{after}")


def test_at_the_end_the_engine_may_talk(
    pdm_run: Run, checkout: Checkout, graded: Graded
) -> None:
    pdm_run("skip --week 1 --day 6 --task 1")
    for path in checkout.reference.glob("*.py"):
        solve(checkout, path.name)
    shutil.copytree(checkout.reference_kernels, checkout.kernels, dirs_exist_ok=True)
    graded(*(str(task.address) for task in tasks()))

    assert pdm_run("next").stdout == (
        f"{REQUIRED - 1} of {REQUIRED} tasks are done, 1 skipped.\n"
        "\n"
        "All is done. Let your engine talk: pdm run main --solution tiny_llm\n"
        "Skipped: week 1, day 6, task 1: The generation loop. "
        "To solve it after all: pdm run reset --week 1 --day 6 --task 1\n"
    )


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("import\n\n\nclass RMSNorm\n    pass\n", ":4"),
        ("clas RMSNorm:\n", ""),
        ("RMSNorm = int\n", ":1"),
        ("@print\nclass RMSNorm:\n    pass\n", ":2"),
        ("x = 1\n", ""),
        ("class RMSNorm: '\xff'\n", ":1"),
        (None, ""),
    ],
)
def test_a_definition_is_found_in_whatever_the_file_holds(
    pdm_run: Run, checkout: Checkout, text: str | None, place: str
) -> None:
    path = checkout.starter / "layer_norm.py"
    path.unlink()
    if text:
        path.write_text(text, encoding="latin-1")

    result = pdm_run("next --week 1 --day 4")

    assert line(result, "  write  ") == f"src/tiny_llm/layer_norm.py{place}  RMSNorm"
