"""Replacing files: first a copy of what is there, then all of the new text at once."""

import contextlib
import os
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path


@dataclass(frozen=True)
class Change:
    """A file, and what it is going to hold.

    Attributes:
        path: The file.
        text: All of its new text. None if it goes.
    """

    path: Path
    text: str | None


def write(pending: Sequence[Change], copies: Path) -> Path | None:
    """Write files, or remove them, and first copy what was there.

    Args:
        pending: What to write.
        copies: Where to keep the copies, in a folder named after the time.

    Returns:
        The folder with the copies, or None if no file was there.
    """
    replaced = [change.path for change in pending if change.path.exists()]
    kept = keep(replaced, copies) if replaced else None
    for num_written, change in enumerate(pending):
        try:
            _carry_out(change)
        except OSError:
            if kept and num_written == 0:
                shutil.rmtree(kept, ignore_errors=True)
            raise
    return kept


def _carry_out(change: Change) -> None:
    """Write a file, or remove it, and its folder if that is empty then."""
    if change.text is not None:
        return write_whole(change.path, change.text)
    change.path.unlink()
    with contextlib.suppress(OSError):
        change.path.parent.rmdir()
    return None


def keep(paths: Sequence[Path], copies: Path) -> Path:
    """Copy files into a new folder named after the time, and return that."""
    kept = _new_folder(copies)
    names = [path.name for path in paths]
    try:
        for path in paths:
            is_alone = names.count(path.name) == 1
            copy = kept / (path.name if is_alone else f"{path.parent.name}-{path.name}")
            shutil.copy2(path, copy)
    except OSError:
        shutil.rmtree(kept, ignore_errors=True)
        raise
    return kept


def put_away(path: Path, copies: Path) -> Path:
    """Move what should have been a file into such a folder, and return where it is."""
    return Path(shutil.move(path, _new_folder(copies) / path.name))


def _new_folder(copies: Path) -> Path:
    """Make a folder named after the time."""
    folder = copies / datetime.now().astimezone().strftime("%Y-%m-%d-%H%M%S-%f")
    folder.mkdir(parents=True)
    return folder


def write_whole(path: Path, text: str) -> None:
    """Write a file atomically: a reader finds the old text or the new one.

    Raises:
        OSError: It cannot be written. The error names the file.
    """
    target = path.resolve()
    unfinished = target.with_name(f"{target.name}.{os.getpid()}.new")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        unfinished.write_bytes(text.encode())
        if target.exists():
            shutil.copymode(target, unfinished)
        unfinished.replace(target)
    except OSError as error:
        error.filename = str(target)
        raise
    finally:
        # A read-only disk refuses this, too, and the error above says so.
        with contextlib.suppress(OSError):
            unfinished.unlink(missing_ok=True)


def sweep(*folders: Path) -> None:
    """Remove what commands that were killed have left half written."""
    for folder in folders:
        for path in folder.glob("*.new"):
            owner = re.search(r"\.(\d+)\.new$", path.name)
            if owner and not _is_running(int(owner[1])):
                with contextlib.suppress(OSError):
                    path.unlink()


def _is_running(pid: int) -> bool:
    """Tell whether there is a process of this number, of any user."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        pass
    return True
