"""Replacing files loses nothing: what they said is kept, whenever it is interrupted."""

import itertools
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from tiny_llm_course.editing import saving

OLD = {"basics.py": "# the work of a week\n" * 9, "notes.py": "idea = 1\n"}
NEW = {"basics.py": "# a stub\n" * 5, "attention.py": "# another\n"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with the learner's files, old and own ones."""
    return filled(tmp_path / "tiny_llm")


def filled(folder: Path) -> Path:
    folder.mkdir()
    for name, text in OLD.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def pending(folder: Path) -> list[saving.Change]:
    return [saving.Change(folder / name, text) for name, text in NEW.items()]


def texts(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.py")}


def test_writing_keeps_copies_of_what_it_replaces(folder: Path, tmp_path: Path) -> None:
    kept = saving.write(pending(folder), tmp_path / "copies")

    assert texts(folder) == OLD | NEW
    assert kept is not None
    assert texts(kept) == {"basics.py": OLD["basics.py"]}
    assert kept.parent == tmp_path / "copies"


def test_copies_of_files_with_one_name_are_both_kept(tmp_path: Path) -> None:
    changes = [
        saving.Change(tmp_path / folder / "matvec.h", "new\n")
        for folder in ("glue", "kernels")
    ]
    for change in changes:
        change.path.parent.mkdir()
        change.path.write_text(change.path.parent.name)

    kept = saving.write(changes, tmp_path / "copies")

    assert kept is not None
    assert {path.name: path.read_text() for path in kept.iterdir()} == {
        "glue-matvec.h": "glue",
        "kernels-matvec.h": "kernels",
    }


def test_writing_makes_no_copies_of_nothing(tmp_path: Path) -> None:
    kept = saving.write(pending(tmp_path / "tiny_llm"), tmp_path / "copies")

    assert texts(tmp_path / "tiny_llm") == NEW
    assert kept is None
    assert not (tmp_path / "copies").exists()


class Interruption(BaseException):
    """Simulates Ctrl-C at a chosen place."""


def interrupted(action: Callable[[], object], after: int) -> bool:
    """Run `action`, and interrupt it after some lines. Tell whether it got there."""
    lines = itertools.count()

    def trace(frame: FrameType, event: str, argument: object) -> Any:  # noqa: ANN401
        del frame, argument
        if event == "line" and next(lines) == after:
            raise Interruption
        return trace

    usual = sys.gettrace()
    sys.settrace(trace)
    try:
        action()
    except Interruption:
        return True
    finally:
        sys.settrace(usual)
    return False


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_interruption_at_any_line_loses_nothing(tmp_path: Path) -> None:
    """In our code or the library's: each file is old or new, and old ones are kept."""
    copies = tmp_path / "copies"

    for after in itertools.count():
        folder = filled(tmp_path / str(after))
        was_interrupted = interrupted(
            lambda folder=folder: saving.write(pending(folder), copies / folder.name),
            after,
        )

        now = texts(folder)
        copied = {path.read_text() for path in (copies / folder.name).rglob("*.py")}
        assert OLD.keys() <= now.keys()
        assert all(text in {OLD.get(name), NEW.get(name)} for name, text in now.items())
        assert set(OLD.values()) <= {*now.values(), *copied}
        if not was_interrupted:
            break

    assert after > 50
    assert now == OLD | NEW
