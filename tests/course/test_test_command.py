"""`pdm run test` accepts usual spellings, and answers in one screen or one line."""

import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from click.testing import Result as Ran

from tiny_llm_course.commands import test as test_command
from tiny_llm_course.commands.passed_on import OF_PYTEST
from tiny_llm_course.grading.report.standing import TaskReport
from tiny_llm_course.grading.results import NOT_STARTED, PASSED, WRONG, Result
from tiny_llm_course.places import ROOT, STARTER
from tiny_llm_course.syllabus import Day, select_days, weeks

Run = Callable[[str], Ran]

LAST = weeks()[1].days[-1].number
CONTENTS = (
    f"there is week 1 (days 1 to 7), week 2 (days 1 to 7 and G1 to {LAST}), "
    "week 3 (days 1 to 7)"
)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[object]:
    """Replace grading: record what would be graded, all of it done."""
    asked: list[object] = []

    def assess(
        days: Sequence[Day], solution: str, pytest_args: Sequence[str]
    ) -> list[TaskReport]:
        asked.extend([days, solution, [*pytest_args]])
        return reports(days, PASSED)

    monkeypatch.setattr(test_command, "assess", assess)
    monkeypatch.setenv("TINY_LLM_HOME", str(tmp_path))
    return asked


def reports(days: Sequence[Day], status: str) -> list[TaskReport]:
    """Return a report on every task, each with one test."""
    return [
        TaskReport(
            task, (Result(str(task.address), "test", status, task.not_started()),)
        )
        for day in days
        for task in day.tasks
    ]


@pytest.mark.parametrize(
    ("command", "solution"),
    [(test_command.command, "tiny_llm"), (test_command.command_refsol, "tiny_llm_ref")],
    ids=["test", "test-refsol"],
)
@pytest.mark.parametrize(
    ("typed", "selected", "pytest_args"),
    [
        ("--week 1 --day 4", (1, 4), []),
        ("--week 1 --day 4 -- -k task_1", (1, 4), ["-k", "task_1"]),
        ("--week 1 --day 4 -k task_1", (1, 4), ["-k", "task_1"]),
        ("--week 1", (1, None), []),
        ("", (None, None), []),
        ("--week 1 --day 4 --", (1, 4), []),
        ("--week=1 --day=4 -x -k silu", (1, 4), ["-x", "-k", "silu"]),
        ("-k silu --week 1", (1, None), ["-k", "silu"]),
        ("--week 1 --day 4 --task 1", (1, 4), ["-k", "task_1"]),
        (
            "--week 1 --day 4 --task 1 -x -k a",
            (1, 4),
            ["-k", "task_1 and (a)", "-x"],
        ),
        ("--day 4 --week 1 -- --weak 1", (1, 4), ["--weak", "1"]),
        ("-- --durations=3 -k silu", (None, None), ["--durations=3", "-k", "silu"]),
    ],
)
def test_days_are_taken_and_the_rest_goes_to_pytest(
    asked: list[object],
    command: click.Command,
    solution: str,
    typed: str,
    selected: tuple[int | None, int | None],
    pytest_args: list[str],
) -> None:
    """With and without the `--`, which pdm passes on unless it comes first."""
    result = CliRunner().invoke(command, typed.split())

    assert (result.exit_code, result.stderr) == (0, "")
    assert asked == [select_days(*selected), solution, pytest_args]


def test_another_solution_is_graded(asked: list[object], tmp_path: Path) -> None:
    CliRunner().invoke(test_command.command, ["--solution", str(tmp_path)])

    assert asked[1] == str(tmp_path)


@pytest.mark.parametrize(
    ("status", "exit_code"), [(PASSED, 0), (WRONG, 1), (NOT_STARTED, 1)]
)
def test_the_exit_code_tells_whether_all_is_done(
    monkeypatch: pytest.MonkeyPatch, status: str, exit_code: int
) -> None:
    def assess(days: Sequence[Day], *_: object) -> list[TaskReport]:
        return [*reports(days[:1], PASSED), *reports(days[1:], status)]

    monkeypatch.setattr(test_command, "assess", assess)

    result = CliRunner().invoke(test_command.command_refsol, ["--week", "1"])

    assert result.exit_code == exit_code


def test_a_skipped_task_is_not_called_done(
    pdm_run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its tests pass because of the course's code."""
    pdm_run("skip --week 1 --day 4 --task 1")
    day = select_days(1, 4)
    norm = [report for report in reports(day, PASSED) if report.task.address.task == 1]
    monkeypatch.setattr(test_command, "assess", lambda *_: norm)

    ran = pdm_run("test --week 1 --day 4")

    assert (ran.exit_code, ran.stdout) == (
        0,
        "week 1, day 4: RMSNorm and the SwiGLU MLP\n"
        "  task 1  RMSNorm  skipped: our solution\n\n"
        "Nothing is open: 1 of 1 tasks are skipped.\n",
    )


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("--week 9", f"there is no week 9; {CONTENTS}"),
        ("--week 1 --day 9", f"there is no day 9 in week 1; {CONTENTS}"),
        ("--day 4", f"--day 4: expected --week as well; {CONTENTS}"),
        ("--week 9 -v", f"there is no week 9; {CONTENTS}"),
        ("--week four", "Invalid value for '--week': 'four' is not a valid integer"),
        (
            "--week 1 --day 4 --solution tiny_lm",
            "there is no solution 'tiny_lm': neither a folder nor a package; did you "
            "mean 'tiny_llm'?",
        ),
        (
            "--week 1 --day 6 -- --nope",
            "pytest ran no test; unrecognized arguments: --nope",
        ),
        (
            "--week 1 --day 4 --task 9",
            "there is no task 9 in week 1, day 4; there is task 1",
        ),
        ("--week 1 --task 1", "--task 1: expected --week and --day as well; there is"),
    ],
)
def test_a_misuse_is_one_line_and_exit_code_2(typed: str, said: str) -> None:
    result = CliRunner().invoke(test_command.command_refsol, typed.split())

    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"test-refsol: {said}")
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("--weak 1", "there is no option '--weak'; did you mean '--week'?"),
        ("--weak=1", "there is no option '--weak'; did you mean '--week'?"),
        (
            "--gibberish",
            "there is no option '--gibberish'; put options of pytest after a `--`",
        ),
        ("-y", "there is no option '-y'; put options of pytest after a `--`"),
    ],
)
def test_a_misspelt_option_is_refused_before_anything_is_done(
    asked: list[object], typed: str, said: str
) -> None:
    result = CliRunner().invoke(test_command.command, ["--week", "2", *typed.split()])

    assert (result.exit_code, result.stdout, asked) == (2, "", [])
    assert result.stderr == f"test: {said}\n"


def test_every_option_that_goes_to_pytest_is_one_of_pytest() -> None:
    helped = subprocess.run(
        [sys.executable, "-m", "pytest", "--help"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout

    assert {name for name in OF_PYTEST if name not in helped} == set()


def run(
    *arguments: str | Path, name: str = "command"
) -> subprocess.CompletedProcess[str]:
    """Run `pdm run test` as from a terminal."""
    code = f"from tiny_llm_course.commands.test import {name}; {name}()"
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_task_that_is_done_is_told_on_stdout() -> None:
    done = run("--week", "1", "--day", "4", "--", "-k", "task_1", name="command_refsol")

    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(
        r"week 1, day 4: RMSNorm and the SwiGLU MLP\n"
        r"  task 1  RMSNorm  done +(\d+) of \1 tests pass\n"
        r"\n"
        r"All done: 1 of 1 tasks\.\n",
        done.stdout,
    )


def test_on_the_starter_no_task_is_started() -> None:
    """RoPE and the sampler are stubs of several tasks, and name the first."""
    few = "not float16 and (zeros or silu_has or likeliest or top or uses_the_base)"

    done = run("--week", "1", "--solution", STARTER, "-k", few)

    lines = [line for line in done.stdout.splitlines() if line.startswith("  task ")]
    assert (done.returncode, done.stderr) == (1, "")
    assert len(lines) > 6
    assert [line for line in lines if not line.rstrip().endswith("not started")] == []
    assert done.stdout.rstrip().endswith("--task 1")


@pytest.mark.parametrize("view", ["--co", "--help"])
def test_whoever_asks_for_pytest_sees_pytest(view: str) -> None:
    done = run("--week", "1", "--day", "6", "--", view)

    assert done.returncode == 0
    assert {"--co": "<Function test_task_1_", "--help": "usage: "}[view] in done.stdout


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        (
            "from tiny_llm_course import todo; todo('week 1, day 6, task 1')",
            "not start",
        ),
        ("return prompt[99]", "generate.py, line 2, in simple_generate: return prompt"),
    ],
    ids=["a stub", "an exception"],
)
def test_plain_pytest_shows_no_line_of_the_course(
    tmp_path: Path, body: str, shown: str
) -> None:
    code = f"def simple_generate(model, tokenizer, prompt, sampler):\n    {body}\n"
    (tmp_path / "generate.py").write_text(code)

    command = [sys.executable, "-m", "pytest", "tests/test_week_1_day_6.py"]
    done = subprocess.run(
        [*command, "--solution", tmp_path, "-k", "returns_the_likeliest_text"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 1
    assert shown in done.stdout
    assert "Traceback" not in done.stdout
    assert not re.search(r"tiny_llm_course|site-packages|^>|^E ", done.stdout, re.M)
