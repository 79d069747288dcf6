"""`pdm run solution`: the learner's code beside the course's."""

import re
import shutil
from collections.abc import Callable

import pytest
from click.testing import Result

from tiny_llm_course.places import Checkout

Run = Callable[[str], Result]
Graded = Callable[..., None]

RMS_NORM = "week 1, day 4, task 1"
COMMAND = "solution --week 1 --day 4 --task 1"

DIFF = """\
--- src/tiny_llm/layer_norm.py (yours)
+++ src/tiny_llm_ref/layer_norm.py (the course's)
@@
     def __call__(self, x: Float[mx.array, "*N D"]) -> Float[mx.array, "*N D"]:
         \"""Normalise every vector along the last axis of `x`.\"""
         wide = x.astype(mx.float32)
-        mean_square = mean_of_squares(wide)
+        mean_square = mx.mean(wide * wide, axis=-1, keepdims=True)
         unit = wide * mx.rsqrt(mean_square + self.eps)
         return (unit * self.weight.astype(mx.float32)).astype(x.dtype)
-
-
-def mean_of_squares(x):
-    return mx.mean(x * x, axis=-1, keepdims=True)
"""


@pytest.fixture
def solved(checkout: Checkout, graded: Graded) -> None:
    """Let a learner solve the norm in their own way."""
    text = (checkout.reference / "layer_norm.py").read_text()
    text = text.replace(
        "mx.mean(wide * wide, axis=-1, keepdims=True)", "mean_of_squares(wide)"
    )
    text += (
        "\n\ndef mean_of_squares(x):\n    return mx.mean(x * x, axis=-1, keepdims=True)"
        "\n\n\ndef unused(x):\n    return x\n"
    )
    (checkout.starter / "layer_norm.py").write_text(text)
    graded(RMS_NORM)


@pytest.mark.usefixtures("solved")
def test_a_task_that_is_done_shows_both(pdm_run: Run) -> None:
    """The diff has the helpers that the learner's code calls, and nothing else."""
    result = pdm_run(COMMAND)

    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == DIFF


@pytest.mark.usefixtures("solved")
def test_a_terminal_shows_colours(
    pdm_run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")

    shown = pdm_run(COMMAND).stdout

    assert "\x1b[31m-        mean_square = mean_of_squares(wide)\x1b[0m\n" in shown
    assert re.sub(r"\x1b\[[\d;]*m", "", shown) == DIFF


def test_before_that_it_asks_for_spoil(pdm_run: Run) -> None:
    result = pdm_run(COMMAND)

    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == (
        "solution: week 1, day 4, task 1 is not done yet; add --spoil to see its "
        "solution all the same\n"
    )


@pytest.mark.usefixtures("solved")
def test_a_task_that_has_changed_is_not_done(pdm_run: Run, checkout: Checkout) -> None:
    path = checkout.starter / "layer_norm.py"
    path.write_text(path.read_text().replace("x * x", "x + x"))

    assert pdm_run(COMMAND).exit_code == 2


def test_spoil_shows_it_all_the_same(pdm_run: Run) -> None:
    result = pdm_run(f"{COMMAND} --spoil")

    assert result.exit_code == 0
    assert '-        todo("week 1, day 4, task 1")' in result.stdout.splitlines()
    assert "+        self.eps = eps" in result.stdout.splitlines()


def test_the_helpers_of_the_course_are_shown(pdm_run: Run) -> None:
    shown = pdm_run("solution --week 1 --day 1 --task 2 --spoil").stdout.splitlines()

    assert "+def _split_heads(" in shown
    assert [line for line in shown if line.startswith("+++")] == [
        "+++ src/tiny_llm_ref/basics.py (the course's)",
        "+++ src/tiny_llm_ref/attention.py (the course's)",
    ]


def test_other_tasks_are_not_given_away(pdm_run: Run) -> None:
    """Grouped attention calls the causal mask, which is the next task."""
    shown = pdm_run("solution --week 1 --day 3 --task 1 --spoil").stdout

    assert "causal_mask(L, S, query.dtype)" in shown
    assert "def causal_mask" not in shown


def test_code_that_is_the_same_is_said_to_be(pdm_run: Run, checkout: Checkout) -> None:
    """This includes `skip`, after which the task need not be done."""
    pdm_run("skip --week 1 --day 4 --task 2")

    result = pdm_run("solution --week 1 --day 4 --task 2")

    assert result.exit_code == 0
    assert re.sub(r":\d+", ":N", result.stdout) == (
        "src/tiny_llm/basics.py:N  silu is written as in the course\n"
        "src/tiny_llm/qwen2_week1.py:N  Qwen2MLP is written as in the course\n"
    )
    assert (checkout.copies).exists()


def test_a_file_that_is_not_python_cannot_be_compared(
    pdm_run: Run, checkout: Checkout
) -> None:
    (checkout.starter / "layer_norm.py").write_text("class RMSNorm\n")

    result = pdm_run(f"{COMMAND} --spoil")

    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("solution: src/tiny_llm/layer_norm.py:1 is not Py")


def test_nothing_is_changed(pdm_run: Run, checkout: Checkout) -> None:
    shutil.copy(checkout.reference / "layer_norm.py", checkout.starter)
    before = {path: path.read_bytes() for path in checkout.root.rglob("*.*")}

    pdm_run(f"{COMMAND} --spoil")

    assert {path: path.read_bytes() for path in checkout.root.rglob("*.*")} == before
