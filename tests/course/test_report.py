"""The screen after a test run, word for word.

After a change of the texts: `UPDATE_GOLDEN=1 pytest tests/course/test_report.py`.
"""

import os
import re
import shutil
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from tiny_llm_course import language
from tiny_llm_course.grading.report.assessment import assess
from tiny_llm_course.grading.report.screen import print_report
from tiny_llm_course.places import REFERENCE, ROOT, STARTER
from tiny_llm_course.syllabus import select_days

GOLDEN = Path(__file__).parent / "golden"
README = ROOT / "README.md"


@dataclass(frozen=True)
class Situation:
    """A learner's folder, and the day that they grade.

    Attributes:
        name: The name of the file with the expected screen.
        day: The day of week 1.
        solved: Files that are taken from the reference. None takes all.
        file: The file that is then changed.
        old: The text that is replaced.
        new: The text that replaces it.
    """

    name: str
    day: int
    solved: tuple[str, ...] | None = ()
    file: str = ""
    old: str = ""
    new: str = ""

    def build(self, folder: Path) -> Path:
        """Write the learner's files to `folder`."""
        shutil.copytree(STARTER, folder)
        names = self.solved
        if names is None:
            names = tuple(path.name for path in REFERENCE.glob("*.py"))
        for name in names:
            shutil.copy(REFERENCE / name, folder / name)
        if self.file:
            path = folder / self.file
            text = path.read_text(encoding="utf-8")
            assert self.old in text, f"{self.name}: {self.file} has no {self.old!r}"
            path.write_text(text.replace(self.old, self.new), encoding="utf-8")
        return folder


SITUATIONS = [
    Situation("nothing_started", 4),
    Situation(
        "eps_outside_the_root",
        4,
        ("layer_norm.py",),
        "layer_norm.py",
        "wide * mx.rsqrt(mean_square + self.eps)",
        "wide / (mx.sqrt(mean_square) + self.eps)",
    ),
    Situation(
        "gate_and_up_swapped",
        4,
        None,
        "qwen2_week1.py",
        "gate = silu(linear(x, self.w_gate))\n"
        "        return linear(gate * linear(x, self.w_up), self.w_down)",
        "gate = silu(linear(x, self.w_up))\n"
        "        return linear(gate * linear(x, self.w_gate), self.w_down)",
    ),
    Situation(
        "divided_by_d",
        1,
        None,
        "attention.py",
        "scale = 1 / math.sqrt(query.shape[-1])",
        "scale = 1 / query.shape[-1]",
    ),
    Situation(
        "an_exception",
        4,
        ("layer_norm.py",),
        "layer_norm.py",
        "wide = x.astype(mx.float32)",
        "wide = x.astype(mx.float32) + mx.zeros((2, 3, 5))",
    ),
    Situation("all_done", 4, None),
]


@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda one: one.name)
def test_report_reads_as_written_down(
    situation: Situation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # On a machine with a GPU, every test runs twice, which would double the counts.
    monkeypatch.setenv("TINY_LLM_DEVICES", "cpu")

    screen = _screen(situation, tmp_path)

    golden = GOLDEN / f"{situation.name}.txt"
    if os.environ.get("UPDATE_GOLDEN"):
        golden.write_text(screen, encoding="utf-8")
    assert screen == golden.read_text(encoding="utf-8")
    assert len(screen.splitlines()) <= 24, "it has to fit on a screen"


def test_readme_shows_a_failure_as_it_looks() -> None:
    """The README shows the grader's real output."""
    shown = re.search(
        r"\$ pdm run test --week 1 --day 4\n(.*?)```", README.read_text("utf-8"), re.S
    )

    golden = (GOLDEN / "eps_outside_the_root.txt").read_text(encoding="utf-8")
    assert shown is not None
    assert shown[1].strip() == golden.strip()


def test_readme_shows_it_in_chinese(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TINY_LLM_DEVICES", "cpu")
    monkeypatch.setenv(language.SETTING, "zh")
    text = README.with_stem("README.zh").read_text("utf-8")
    shown = re.search(r"\$ pdm run test --week 1 --day 4\n(.*?)```", text, re.DOTALL)

    wrong = next(one for one in SITUATIONS if one.name == "eps_outside_the_root")

    assert shown is not None
    assert shown[1].strip() == _screen(wrong, tmp_path).strip()


def _screen(situation: Situation, folder: Path) -> str:
    """Grade the situation's folder, and return what the learner reads."""
    solution = situation.build(folder / "tiny_llm")
    days = select_days(1, situation.day)
    text = StringIO()
    console = Console(file=text, highlight=False, soft_wrap=True)
    print_report(console, days, assess(days, str(solution)))
    return text.getvalue()
