"""`pdm run watch`, as seen from an editor."""

import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tiny_llm_course.places import REFERENCE, STARTER

WATCH = "from tiny_llm_course.commands.watch import command; command()"
PATIENCE_S = 60.0


class Screen:
    """The output of a running command, read while it grows."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._seen = 0

    def wait_for(self, text: str) -> str:
        """Wait for `text`, and return the output since the last call."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            new = self._file.read_text(encoding="utf-8")[self._seen :]
            if text in new and new.endswith("\n"):
                self._seen += len(new)
                return new
            time.sleep(0.05)
        pytest.fail(f"waited for {text!r}, saw {new!r}")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a learner's files, none of them begun."""
    return Path(shutil.copytree(STARTER, tmp_path / "tiny_llm"))


@pytest.fixture
def screen(folder: Path, tmp_path: Path) -> Iterator[Screen]:
    """Watch the learner's files."""
    path = tmp_path / "screen"
    arguments = [sys.executable, "-c", WATCH, "--solution", str(folder)]
    with path.open("w") as file, subprocess.Popen(arguments, stdout=file) as process:
        screen = Screen(path)
        screen.wait_for("Watching")
        yield screen
        process.terminate()


def test_watch_grades_the_task_that_was_saved(folder: Path, screen: Screen) -> None:
    """It is saved with a mistake first, then by renaming a new file over it."""
    right = (REFERENCE / "layer_norm.py").read_text(encoding="utf-8")

    wrong = right.replace("mean_square + self.eps", "mean_square")
    (folder / "layer_norm.py").write_text(wrong, encoding="utf-8")

    seen = screen.wait_for("after the save")
    assert "task 1  RMSNorm  wrong" in seen
    assert "eps is missing" in seen

    (folder / "new").write_text(right, encoding="utf-8")
    (folder / "new").replace(folder / "layer_norm.py")

    seen = screen.wait_for("after the save")
    assert "task 1  RMSNorm  done" in seen


def test_watch_outlives_a_solution_that_ends_python(
    folder: Path, screen: Screen
) -> None:
    text = (REFERENCE / "layer_norm.py").read_text(encoding="utf-8")
    text = text.replace(
        "wide = x.astype", "__import__('os')._exit(3)\n        wide = x.astype"
    )
    (folder / "layer_norm.py").write_text(text, encoding="utf-8")

    seen = screen.wait_for("after the save")

    assert "ended the Python interpreter (exit code 3)" in seen
