"""Behaviour shared by all commands of the learner."""

from collections.abc import Callable

import pytest
from click.testing import Result

Run = Callable[[str], Result]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--week 9", "there is no week 9; there is week 1 (days 1 to 7), week 2 ("),
        ("--week 1 --day 8", "there is no day 8 in week 1; there is week 1 (days 1 to"),
        ("--day 4", "--day 4: expected --week as well; there is week 1 (days 1 to 7)"),
        ("--task 1", "--task 1: expected --week and --day as well; there is week 1"),
        ("--week 1 --task 1", "--task 1: expected --week and --day as well; there is"),
        (
            "--week 1 --day 6 --task 2",
            "there is no task 2 in week 1, day 6; there is task 1 (The generation "
            "loop)",
        ),
    ],
)
@pytest.mark.parametrize(
    "name", ["progress", "next", "hint", "reset", "solution", "skip"]
)
def test_numbers_that_do_not_exist_are_told_in_one_line(
    pdm_run: Run, name: str, options: str, message: str
) -> None:
    result = pdm_run(f"{name} {options}")

    assert result.stderr.startswith(f"{name}: {message}")
    assert result.stderr.count("\n") == 1
    assert (result.exit_code, result.stdout) == (2, "")
