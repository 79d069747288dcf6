"""What a report says about a solution as a whole."""

import re
import shutil
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from tiny_llm_course.editing.lookup import absence
from tiny_llm_course.editing.plans import plan
from tiny_llm_course.grading.engine import session
from tiny_llm_course.grading.report.assessment import assess
from tiny_llm_course.grading.report.screen import print_report, shortened
from tiny_llm_course.grading.report.standing import TaskReport
from tiny_llm_course.grading.results import PASSED, Result, Results
from tiny_llm_course.intake import FailedImport
from tiny_llm_course.places import Checkout
from tiny_llm_course.syllabus import select_days


def graded(folder: Path, day: int, *arguments: str) -> list[TaskReport]:
    """Grade a day of Week 1."""
    return assess(select_days(1, day), str(folder), arguments)


def test_a_failed_import_is_one_remark_and_sinks_nothing_else(
    checkout: Checkout,
) -> None:
    """`from extensions import ...` fails if nothing has been compiled."""
    shutil.copy(checkout.reference / "embedding.py", checkout.starter)
    shutil.copy(checkout.reference / "basics.py", checkout.starter)
    path = checkout.starter / "embedding.py"
    path.write_text("from extensions import ops\n" + path.read_text())
    (report,) = graded(checkout.starter, 5, "-k", "task_2")

    assert report.status == "done"
    assert [remark.splitlines()[0] for remark in report.remarks] == [
        "Remark: embedding.py, line 1 fails (cannot import name 'ops' from "
        "'extensions' (unknown location))."
    ]


def test_an_import_that_failed_in_two_processes_is_one_remark(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """After a crash the other tests run in a new process, which imports all again."""
    address = "week 1, day 1, task 1"
    passed = Result(address, "a test", PASSED)
    failed = FailedImport("attention.py", 3, "No module named 'ops'")
    found = Results({passed.test: passed}, {}, [failed, failed])
    monkeypatch.setattr(session, "grade", lambda *_, **__: found)

    (report,) = assess(select_days(1, 1), "ref", ["-k", "task_1"])

    assert len(report.remarks) == 1


def screen(day: int, reports: list[TaskReport]) -> list[str]:
    """Return the lines that a learner reads of some tasks of Week 1."""
    text = StringIO()
    console = Console(file=text, highlight=False, soft_wrap=True)
    print_report(console, select_days(1, day), reports)
    return text.getvalue().splitlines()


def solve(checkout: Checkout, *names: str) -> None:
    """Put in our solution of some tasks' symbols."""
    for change in plan(checkout, names, to_stub=False):
        change.path.write_text(change.text)


@pytest.mark.parametrize(("num_lines", "num_shown"), [(16, 16), (17, 16), (40, 16)])
def test_a_long_story_is_shown_with_its_end(num_lines: int, num_shown: int) -> None:
    """The last line says which promise was broken."""
    story = [f"step {number}" for number in range(num_lines)]

    lines = shortened("\n".join(story)).splitlines()

    assert len(lines) == num_shown
    assert (lines[:14], lines[-1]) == (story[:14], story[-1])
    assert ("..." in lines) == (num_lines > 16)


@pytest.mark.parametrize(
    ("solved", "closing"),
    [
        (
            "basics.softmax",
            "softmax: right. Next: scaled_dot_product_attention_simple in "
            "attention.py, then: pdm run test --week 1 --day 1 --task 1",
        ),
        (
            "attention.scaled_dot_product_attention_simple",
            "Next: week 1, day 1, task 1, Softmax and scaled dot-product attention. "
            "Fill in basics.py, then: pdm run test --week 1 --day 1 --task 1",
        ),
    ],
    ids=["the first part", "what calls the first part"],
)
def test_each_part_of_a_task_is_judged_as_soon_as_it_is_there(
    checkout: Checkout, solved: str, closing: str
) -> None:
    solve(checkout, solved)

    reports = graded(checkout.starter, 1, "-k", "task_1")

    assert screen(1, reports)[-1] == closing


def test_an_optional_task_that_is_begun_goes_on(checkout: Checkout) -> None:
    """It need not be finished, but a learner who has begun it may want to."""
    shutil.copy(checkout.reference / "transformer_block.py", checkout.starter)
    for change in plan(checkout, ["transformer_block.post_norm_block"], to_stub=True):
        change.path.write_text(change.text)

    (report,) = graded(checkout.starter, 4, "-k", "task_5")

    lines = screen(4, [report])
    assert re.search(r"\(optional\)  begun        \d+ of \d+ tests pass$", lines[1])
    assert lines[-1].startswith(
        "pre_norm_block: right. Next: post_norm_block in transformer_block.py, then: "
    )
    assert not report.is_open


@pytest.mark.parametrize(
    ("symbol", "said"),
    [
        (
            "qwen2_week1.Qwen2MLP",
            "qwen2_week1.py has no Qwen2MLP; did you mean 'Qwen3MLP'?",
        ),
        ("qwen2_week1.Qwen3MLP", ""),
    ],
)
def test_a_name_as_in_qwen3_is_told(tmp_path: Path, symbol: str, said: str) -> None:
    (tmp_path / "qwen2_week1.py").write_text("class Qwen3MLP:\n    x = 1\n")

    assert absence(tmp_path, symbol) == said


def test_a_part_that_is_wrong_is_told_before_the_next_one_is_there(
    checkout: Checkout,
) -> None:
    solve(checkout, "basics.softmax")
    path = checkout.starter / "basics.py"
    path.write_text(path.read_text().replace("wide - mx.max(", "wide + mx.max("))

    (report,) = graded(checkout.starter, 1, "-k", "task_1")

    assert report.status == "wrong"
    assert report.failures[0].message.startswith("softmax(")


def test_a_broken_file_comes_first_whatever_waits(checkout: Checkout) -> None:
    """Day 3 is not done either, but the line of the error is reported first."""
    path = checkout.starter / "qwen2_week1.py"
    path.write_text(path.read_text() + "\n\ndef oh():\nno\n")
    num_lines = len(path.read_text().splitlines())

    lines = screen(5, graded(checkout.starter, 5))

    told = [line for line in lines if "IndentationError" in line]
    assert told == [
        "qwen2_week1.py cannot be imported: IndentationError: expected an "
        f"indented block after function definition on line {num_lines - 1} "
        f"(qwen2_week1.py, line {num_lines})"
    ]
    assert [line for line in lines if line.startswith("First comes")] == []


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            'weight: Float[mx.array, " D"], eps: float = 1e-5',
            "eps, weight",
            "  `RMSNorm.__init__` takes (dim, eps, weight), and is called as "
            "(dim, weight, eps=1e-05).",
        ),
        (
            "def __call__",
            "def forward",
            "  `RMSNorm` has no `__call__`; did you mean 'forward'?",
        ),
    ],
)
def test_another_interface_is_told_and_no_mistake(
    checkout: Checkout, old: str, new: str, said: str
) -> None:
    text = (checkout.reference / "layer_norm.py").read_text()
    assert old in text
    (checkout.starter / "layer_norm.py").write_text(text.replace(old, new))

    lines = screen(4, graded(checkout.starter, 4, "-k", "task_1"))

    assert lines[lines.index("What happened:") + 1] == said


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "class RMSNorm:",
            "class RmsNorm:",
            "layer_norm.py has no RMSNorm; did you mean 'RmsNorm'?",
        ),
        (
            "class RMSNorm:",
            "class rmsnorm:",
            "layer_norm.py has no RMSNorm; did you mean 'rmsnorm'?",
        ),
        ("class RMSNorm:", "class Other:", "layer_norm.py has no RMSNorm"),
    ],
)
def test_a_misspelt_name_is_told(
    checkout: Checkout, old: str, new: str, said: str
) -> None:
    text = (checkout.reference / "layer_norm.py").read_text()
    (checkout.starter / "layer_norm.py").write_text(text.replace(old, new))

    lines = screen(4, graded(checkout.starter, 4, "-k", "task_1"))

    assert lines[1] == f"  task 1  RMSNorm  not started  {said}"


def test_a_file_of_another_task_is_not_meant(checkout: Checkout) -> None:
    """However much it looks like the one that is missing."""
    (checkout.starter / "activations.py").unlink()

    lines = screen(4, graded(checkout.starter, 4, "-k", "task_4"))

    assert lines[1].endswith("  not started  there is no activations.py")


def test_a_file_that_is_not_there_is_told(checkout: Checkout) -> None:
    """Solutions for Qwen3 have files with such names."""
    path = checkout.starter / "qwen2_week1.py"
    path.rename(path.with_name("qwen3_week1.py"))

    lines = screen(5, graded(checkout.starter, 5, "-k", "task_1"))

    said = "there is no qwen2_week1.py; did you mean 'qwen3_week1.py'?"
    assert lines[1].endswith(f"  not started  {said}")
