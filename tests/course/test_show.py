"""`pdm run test --show` prints the numbers of a failing call, and how to make it."""

import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import mlx.core as mx
import numpy as np
import pytest
from click.testing import CliRunner

from tiny_llm_course.commands import test as test_command
from tiny_llm_course.grading.judgement.call import Call
from tiny_llm_course.grading.judgement.closeness import Truth
from tiny_llm_course.grading.judgement.verdict import (
    ArrayEvidence,
    TextEvidence,
    WrongError,
)
from tiny_llm_course.grading.report import numbers
from tiny_llm_course.grading.report.standing import TaskReport
from tiny_llm_course.grading.results import CRASHED, WRONG, Result
from tiny_llm_course.places import REFERENCE
from tiny_llm_course.solution import load_solution
from tiny_llm_course.syllabus import Day, task_at

TASK = task_at("week 1, day 4, task 2")
TEST = f"tests/{TASK.test_file}::test_task_2_silu_agrees_with_torch[cpu-(5,)-float32]"
DOUBLED = "    return 2 * x * mx.sigmoid(x)\n"


@pytest.fixture
def doubled(tmp_path: Path) -> Path:
    """Return a solution whose `silu` is twice as large."""
    folder = shutil.copytree(REFERENCE, tmp_path / "theirs")
    path = folder / "basics.py"
    text = path.read_text(encoding="utf-8")
    path.write_text(text + "\n\ndef silu(x):\n" + DOUBLED, encoding="utf-8")
    return folder


def shown(
    monkeypatch: pytest.MonkeyPatch, folder: Path, typed: Sequence[str], status: str
) -> str:
    """Replace grading by one wrong test, and return the output."""

    def assess(days: Sequence[Day], *_: object) -> list[TaskReport]:
        del days
        return [TaskReport(TASK, (Result(str(TASK.address), TEST, status, "wrong"),))]

    monkeypatch.setattr(test_command, "assess", assess)
    arguments = ["--week", "1", "--day", "4", "--solution", str(folder), *typed]
    return CliRunner().invoke(test_command.command, arguments).stdout


@pytest.mark.parametrize("typed", [["--show"], ["--", "-k", "task_2", "--show"]])
def test_numbers_are_shown_with_the_lines_that_make_the_call_again(
    monkeypatch: pytest.MonkeyPatch, doubled: Path, typed: list[str]
) -> None:
    screen = shown(monkeypatch, doubled, typed, WRONG)

    found = re.search(r"x: float32\[(\d+)\]\nexpected:", re.sub(r"\n  .*", "", screen))
    assert found is not None
    lines = [line.strip() for line in screen.splitlines()[-3:]]
    code = "\n".join([*lines[:2], f"print({lines[2]}.shape)"])
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert ran.stdout == f"({found[1]},)\n"


def test_a_call_that_crashed_is_not_made_again(
    monkeypatch: pytest.MonkeyPatch, doubled: Path
) -> None:
    screen = shown(monkeypatch, doubled, ["--show"], CRASHED)

    assert "expected:" not in screen
    assert f"failing_call('{TEST}', '{doubled}')" in screen


def test_without_the_option_there_are_no_numbers(
    monkeypatch: pytest.MonkeyPatch, doubled: Path
) -> None:
    assert "failing_call" not in shown(monkeypatch, doubled, [], WRONG)


def test_who_waits_for_a_verdict_does_not_wait_for_mlx_twice() -> None:
    """The command starts a process that imports MLX, and does not import it itself."""
    code = (
        "import sys, tiny_llm_course.commands.test; "
        "print({'mlx.core', 'numpy', 'pytest'} & {*sys.modules})"
    )

    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    assert ran.stdout == "set()\n"


def written(shape: tuple[int, ...]) -> str:
    """Write the numbers of a wrong `silu`, whose last entry is 9."""
    value = np.zeros(shape)
    got = np.zeros(shape)
    got[(-1,) * len(shape)] = 9
    evidence = ArrayEvidence(mx.array(got), Truth(value, np.ones(shape)))
    call = Call("basics.silu", (mx.zeros(shape),))
    return numbers.write(call, WrongError("wrong", evidence), load_solution("ref"))


def test_small_arrays_are_whole() -> None:
    assert written((2, 2)).splitlines() == [
        "wrong",
        "x: float32[2, 2]",
        "  [[0. 0.]",
        "   [0. 0.]]",
        "expected: float64[2, 2]",
        "  [[0. 0.]",
        "   [0. 0.]]",
        "got: float32[2, 2]",
        "  [[0. 0.]",
        "   [0. 9.]]",
    ]


def test_large_arrays_are_cut_and_shown_where_they_are_furthest_off() -> None:
    lines = written((20, 20)).splitlines()

    assert len(lines) < 25
    assert lines[-3:] == [
        "around [19, 19], which is furthest off:",
        "  expected [0. 0. 0. 0.]",
        "  got      [0. 0. 0. 9.]",
    ]


def test_arguments_have_the_names_that_the_solution_gives_them() -> None:
    norm = Call("layer_norm.RMSNorm", (mx.zeros(1),), build=(1, mx.ones(1), 1e-5))
    verdict = WrongError("wrong", TextEvidence("none"))

    lines = numbers.write(norm, verdict, load_solution("ref")).splitlines()

    assert [line for line in lines[1:] if line[0] != " "] == [
        "dim = 1",
        "weight: float32[1]",
        "eps = 1e-05",
        "x: float32[1]",
    ]
