"""A full or read-only disk gives an error of one line, and loses nothing."""

import errno
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tiny_llm_course.commands import test as test_command
from tiny_llm_course.editing.saving import sweep, write_whole
from tiny_llm_course.grading.report.standing import TaskReport
from tiny_llm_course.grading.results import WRONG
from tiny_llm_course.grading.results import Result as Judged
from tiny_llm_course.places import Checkout
from tiny_llm_course.syllabus import Day

Run = Callable[[str], Result]

WRITING = [
    "skip --week 1 --day 4 --task 1",
    "reset --week 1 --day 4 --task 1",
    "update",
    "starter",
    "hint --week 1 --day 4 --task 1",
    "progress",
]


def full(function: Callable[..., Any]) -> Callable[..., Any]:
    """Do half of a step, then fail as on a full disk."""

    def step(path: Path, data: Any, **_: object) -> None:  # noqa: ANN401
        if function.__name__ == "write_bytes":
            function(path, data[:9])
        else:
            Path(data).write_text("half")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    return step


def read_only(path: Path, *_: object, **__: object) -> None:
    raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))


@pytest.fixture
def worker(checkout: Checkout) -> Checkout:
    """Return a checkout with a learner's work, which every command would change."""
    for name in ("basics.py", "layer_norm.py"):
        text = (checkout.reference / name).read_text()
        (checkout.starter / name).write_text(text.replace(" * ", " + "))
    (checkout.starter / "embedding.py").unlink()
    checkout.progress.write_text("damaged")
    return checkout


def contents(checkout: Checkout) -> dict[Path, bytes]:
    found = [*checkout.root.rglob("*.py"), *checkout.root.glob("*.json")]
    found += [*checkout.root.rglob("*.new"), *checkout.copies.rglob("*")]
    return {path: path.read_bytes() for path in found if path.is_file()}


def assert_one_line(ran: Result, name: str, reason: int) -> None:
    (line,) = ran.stderr.splitlines()
    assert line.startswith(f"{name}: ")
    assert os.strerror(reason) in line
    assert ran.exit_code == 2


COPYING = [line for line in WRITING if not line.startswith(("update", "hint"))]
"""The other commands replace nothing here."""


@pytest.mark.parametrize(
    ("owner", "step", "line"),
    [(Path, "write_bytes", line) for line in WRITING]
    + [(shutil, "copy2", line) for line in COPYING],
)
def test_a_full_disk_is_one_line_and_changes_nothing(
    pdm_run: Run,
    worker: Checkout,
    monkeypatch: pytest.MonkeyPatch,
    owner: object,
    step: str,
    line: str,
) -> None:
    before = contents(worker)
    monkeypatch.setattr(owner, step, full(getattr(owner, step)))

    ran = pdm_run(line)

    assert_one_line(ran, line.partition(" ")[0], errno.ENOSPC)
    after = contents(worker)
    assert after == before | {
        path: b"damaged"
        for path in after
        if path.parent.parent == worker.copies and path.name == "progress.json"
    }


@pytest.mark.parametrize("line", WRITING)
def test_a_read_only_disk_is_one_line(
    pdm_run: Run, worker: Checkout, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    before = contents(worker)
    monkeypatch.setattr(Path, "mkdir", read_only)
    monkeypatch.setattr(Path, "write_bytes", read_only)

    ran = pdm_run(line)

    assert_one_line(ran, line.partition(" ")[0], errno.EROFS)
    assert contents(worker) == before


@pytest.fixture
def graded(monkeypatch: pytest.MonkeyPatch, checkout: Checkout) -> Checkout:
    """Replace grading: all tasks are wrong."""

    def assess(days: Sequence[Day], *_: object) -> list[TaskReport]:
        return [
            TaskReport(task, (Judged(str(task.address), "test", WRONG, "all is lost"),))
            for day in days
            for task in day.tasks
        ]

    monkeypatch.setattr(test_command, "assess", assess)
    monkeypatch.setenv("TINY_LLM_HOME", str(checkout.root))
    return checkout


def test_the_report_comes_before_what_cannot_be_saved(
    graded: Checkout, tmp_path: Path
) -> None:
    """Everything else is still saved."""
    arguments = ["--week", "1", "--day", "4", "--json", "/nonexistent/a.json"]
    arguments += ["--junitxml", str(tmp_path / "a.xml")]

    ran = CliRunner().invoke(test_command.command, arguments)

    assert "all is lost" in ran.stdout
    assert_one_line(ran, "test", errno.ENOENT)
    assert "/nonexistent/a.json" in ran.stderr
    assert (tmp_path / "a.xml").exists()
    assert graded.progress.exists()


def test_the_report_comes_before_progress_that_cannot_be_saved(
    graded: Checkout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "write_bytes", read_only)
    arguments = ["--week", "1", "--day", "4", "--json", str(tmp_path / "a.json")]

    ran = CliRunner().invoke(test_command.command, arguments)

    assert "all is lost" in ran.stdout
    assert_one_line(ran, "test", errno.EROFS)
    assert (tmp_path / "a.json").exists()
    assert not graded.progress.exists()


@pytest.fixture
def ended_pid() -> int:
    """Return the id of a process that has ended."""
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    return ended.pid


def test_what_a_killed_command_left_half_written_goes_at_the_next_run(
    pdm_run: Run, checkout: Checkout, ended_pid: int
) -> None:
    left = checkout.starter / f"basics.py.{ended_pid}.new"
    left.write_text("half")

    pdm_run("progress")

    assert not left.exists()


def test_what_another_command_is_writing_stays(tmp_path: Path, ended_pid: int) -> None:
    path = tmp_path / "basics.py"
    theirs = tmp_path / f"basics.py.{os.getppid()}.new"
    learners = tmp_path / f"notes.{ended_pid}.txt"
    for one in (theirs, learners):
        one.write_text("kept")

    write_whole(path, "all of it")
    sweep(tmp_path)

    assert sorted(tmp_path.iterdir()) == sorted([path, theirs, learners])
