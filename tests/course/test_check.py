"""`pdm run check` shows a line per step, and all about the one that fails."""

import re

import pytest

from tiny_llm_course.checks import STEPS, Step
from tiny_llm_course.commands.check import run_all

PASSES = Step("the tests pass", ("-c", "print('..\\n==== 2 passed in 0.1s ====\\n')"))
FAILS = Step("the lint passes", ("-c", "print('a.py:1 E501'); exit('found 1')"))


def test_a_step_that_passes_is_one_line_with_how_it_ended(
    capsys: pytest.CaptureFixture[str],
) -> None:
    exit_code = run_all([PASSES, PASSES])

    line = r"the tests pass +ok +\d+\.\d s  2 passed in 0\.1s\n"
    assert re.fullmatch(line * 2, capsys.readouterr().out)
    assert exit_code == 0


def test_the_first_step_that_fails_shows_all_it_printed_and_ends_the_run(
    capsys: pytest.CaptureFixture[str],
) -> None:
    exit_code = run_all([FAILS, PASSES])

    line, *rest = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"the lint passes +FAILED +\d+\.\d s  found 1", line)
    assert rest == ["", "a.py:1 E501", "found 1", ""]
    assert exit_code == 1


def test_both_sides_of_the_promise_are_checked() -> None:
    """Tests that accept the reference prove little unless they reject the starter."""
    names = {step.name for step in STEPS}

    assert {"the reference passes", "the starter passes nothing"} <= names
