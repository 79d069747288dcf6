"""Which tasks a saved file has changed."""

import ast
from collections.abc import Iterator
from pathlib import Path

import watchfiles

from tiny_llm_course.syllabus import Task, tasks

Texts = dict[str, str]
"""The text of every file of a solution, by file name without `.py`."""

NETWORK_FILESYSTEMS = {"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "fuse.sshfs"}
"""They do not tell when a file changes, so it has to be looked at again and again."""


def saves(folder: Path) -> Iterator[None]:
    """Yield whenever something in `folder` has been saved, until Ctrl-C.

    Watching the folder rather than its files also sees editors that write a new file
    and rename it.
    """
    polling = True if _filesystem(folder) in NETWORK_FILESYSTEMS else None
    for _ in watchfiles.watch(folder, force_polling=polling, debounce=50, step=20):
        yield


def read_texts(folder: Path) -> Texts:
    """Read the files of a solution."""
    return {
        path.stem: path.read_text(encoding="utf-8", errors="replace")
        for path in sorted(folder.glob("*.py"))
    }


def changed_tasks(before: Texts, after: Texts) -> list[Task]:
    """Return the tasks whose symbols differ, in the order of the course.

    What changes elsewhere in a file, in a helper or an import, may change all of it.
    """
    changed: set[str] = set()
    for file, text in after.items():
        if text != before.get(file):
            changed |= _changed_symbols(file, before.get(file, ""), text)
    return [task for task in tasks() if changed & set(task.symbols)]


def _changed_symbols(file: str, before: str, after: str) -> set[str]:
    """Return the symbols of one file that differ."""
    own = {
        symbol
        for task in tasks()
        for symbol in task.symbols
        if symbol.startswith(f"{file}.")
    }
    old, new = _definitions(before), _definitions(after)
    if old is None or new is None:
        return own
    names = {name for name in old.keys() | new.keys() if old.get(name) != new.get(name)}
    symbols = {f"{file}.{name}" for name in names}
    return symbols if symbols <= own else own


def _definitions(text: str) -> dict[str, str] | None:
    """Return what a file defines by name, comments aside. None if it does not parse."""
    try:
        body = ast.parse(text).body
    except SyntaxError:
        return None
    return {
        getattr(node, "name", f"statement {index}"): ast.dump(node)
        for index, node in enumerate(body)
    }


def _filesystem(folder: Path) -> str:
    """Return the kind of file system of a folder, on Linux, and "" elsewhere."""
    mounts = Path("/proc/mounts")
    if not mounts.exists():
        return ""
    lines = [line.split() for line in mounts.read_text(encoding="utf-8").splitlines()]
    above = [line for line in lines if folder.resolve().is_relative_to(line[1])]
    return max(above, key=lambda line: len(line[1]))[2] if above else ""
