"""The course in a second language, of letters in full width: no English is left."""
# ruff: noqa: RUF001 - its letters look like ours on purpose

import importlib
import re
from collections.abc import Callable
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from click.testing import Result as Ran
from rich.cells import cell_len

from tiny_llm_course import language
from tiny_llm_course.book.typed_commands import scripts
from tiny_llm_course.commands import hint, test
from tiny_llm_course.commands.main import PROMPT
from tiny_llm_course.doctor import speed, system
from tiny_llm_course.layout import wrapped
from tiny_llm_course.syllabus import Address
from tiny_llm_course.units import units

Run = Callable[[str], Ran]
CODE = re.compile(
    r"[\w./]+\.(?:py|h)\b|`[^`]*`|pdm run .*|^  (?:RMSNorm|SwiGLU).*|^\S*\(.*\).*",
    re.MULTILINE,
)
"""What stays as it is in every language: code, and what is typed."""

MISTAKE = "eps_outside_the_root"
RIGHT = "mx.rsqrt(mean_square + self.eps)"
REQUIRED = "task_1 or task_2"
WRONG = "1 / (mx.sqrt(mean_square) + self.eps)"


@pytest.fixture(autouse=True)
def _spoken(second_language: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the course speak the second language, in processes that it starts, too."""
    del second_language
    monkeypatch.setenv(language.SETTING, "qps")


def english(text: str) -> list[str]:
    """Return what looks like words of English that follow each other."""
    return re.findall(r"\b[a-z]{2,}[,;:.]? [a-z]{2,}\b", CODE.sub("", text))


FOR_AUTHORS = {"test_grader", "train_checkpoint"}
"""Commands of the lab that learners do not type, which speak English."""


def own_commands() -> list[str]:
    """Return the modules of the commands with help in all languages."""
    calls = {call.partition(":")[0] for call in scripts().values()}
    names = {call: call.partition(".commands.")[2] for call in calls}
    return sorted(
        call for call in calls if names[call] and names[call] not in FOR_AUTHORS
    )


@pytest.mark.parametrize("module", own_commands())
def test_a_help_page_has_no_english_and_fits(module: str) -> None:
    command: click.Command = importlib.import_module(module).command

    ran = CliRunner().invoke(command, ["--help"], terminal_width=60)

    assert ran.exit_code == 0
    said = " ".join(ran.stdout.partition("\n")[2].split())
    assert english(re.sub(r"pdm run [\w-]+", "", said.replace(PROMPT, ""))) == []
    assert [one for one in ran.stdout.splitlines()[1:] if cell_len(one) > 60] == []


@pytest.fixture
def wrong(solution: Path) -> Path:
    """Return a solution with a known mistake in RMSNorm."""
    path = solution / "layer_norm.py"
    text = path.read_text(encoding="utf-8")
    assert RIGHT in text
    path.write_text(text.replace(RIGHT, WRONG), encoding="utf-8")
    return solution


def test_a_wrong_solution_is_explained_without_english(wrong: Path) -> None:
    """Verdict, numbers, the mistake's sentence, hint and chapter of Week 1, Day 4."""
    asked = ["--week", "1", "--day", "4", "--solution", str(wrong), "-k", REQUIRED]

    ran = CliRunner().invoke(test.command, asked)

    said = units("qps")
    assert ran.exit_code == 1
    assert english(ran.stdout) == []
    for line in said[f"week_1_day_4.misconceptions.{MISTAKE}"].splitlines():
        assert line in ran.stdout
    assert "pdm run hint --week 1 --day 4 --task 1" in ran.stdout
    anchor = MISTAKE.replace("_", "-")
    assert f"pdm run book week-1-day-4-rmsnorm-and-mlp#{anchor}" in ran.stdout
    assert said["syllabus.titles.week_1_day_4"] in ran.stdout
    rows = [line for line in ran.stdout.splitlines() if line.startswith("  ｔａｓｋ")]
    statuses = ("ｄｏｎｅ", "ｗｒｏｎｇ", "ｗａｉｔｓ")
    found = [(row, next(one for one in statuses if one in row)) for row in rows]
    assert len({cell_len(row[: row.index(status)]) for row, status in found}) == 1
    assert len({status for _, status in found}) > 1


@pytest.mark.parametrize(
    "line",
    [
        "progress",
        "next",
        "hint --week 1 --day 4 --task 1 --level 3",
        "skip --week 1 --day 4 --task 1",
        "reset --week 1 --day 4 --task 1",
        "solution --week 1 --day 4 --task 1",
        "update",
        "test --week 9",
        "test --week 1 --day 4 --solution nowhere",
        "starter --check",
    ],
)
def test_a_command_says_nothing_in_english(pdm_run: Run, line: str) -> None:
    ran = pdm_run(line)

    assert ran.stdout + ran.stderr
    assert english(ran.stdout + ran.stderr) == []


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("--level 9", "Invalid value for '--level': 9 is not in the range 1<=x<=3"),
        ("--week x", "Invalid value for '--week': 'x' is not a valid integer"),
        ("--nope", "No such option '--nope'"),
        ("--wekk 1", "No such option '--wekk'. Did you mean '--week'?"),
        ("--week", "Option '--week' requires an argument"),
        ("here", "Got unexpected extra argument (here)"),
        ("here again", "Got unexpected extra arguments (here again)"),
    ],
)
def test_a_misuse_is_told_in_each_language(line: str, said: str) -> None:
    """What click says, word for word, and none of its words."""
    wide = CliRunner().invoke(hint.command, line.split())
    narrow = CliRunner().invoke(hint.command, ["--lang=en", *line.split()])

    assert english(re.sub(r"\(.*\)", "", wide.stderr.partition(":")[2])) == []
    assert narrow.stderr == f"hint: {said}\n"


def test_the_doctor_says_nothing_in_english(
    pdm_run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a compiler is missing, too: its own words would be English."""
    monkeypatch.setattr(system, "first_line", lambda *_: "")
    monkeypatch.setattr(speed, "product_gflops", lambda: 1.0)

    said = pdm_run("doctor").stdout

    assert english(re.sub(r"(sudo|pdm) .*", "", said)) == []
    rows = [line for line in said.splitlines() if line.startswith("  ")]
    assert len({cell_len(row) - cell_len(row.lstrip()) for row in rows}) == 1


def test_the_columns_of_progress_are_aligned(pdm_run: Run) -> None:
    said = pdm_run("progress --week 1").stdout
    rows = [line for line in said.splitlines() if line.startswith("    [")]

    ends = {cell_len(row[: row.rindex("  ")]) for row in rows}

    assert len(rows) > 10
    assert len(ends) == 1


def test_an_address_in_a_file_is_the_same_in_every_language() -> None:
    """Stubs and the progress of a learner have it, whatever they speak."""
    address = Address(1, 4, 1)

    assert str(address) == "week 1, day 4, task 1"
    assert address.named == "ｗｅｅｋ 1, ｄａｙ 4, ｔａｓｋ 1"
    assert Address.parse(address.named) == address


def test_a_narrow_terminal_folds_hints(
    pdm_run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "50")

    said = pdm_run("hint --week 1 --day 4 --task 1 --level 1").stdout

    hint = units("qps")["week_1_day_4.hints.task_1.0"].strip()
    folded = [one for line in hint.splitlines() for one in wrapped(line, 50)]
    assert set(folded) <= set(said.splitlines())
