"""Finds the tasks that a saved file has changed."""

from collections.abc import Iterator
from pathlib import Path

import watchfiles

from tiny_llm_course.editing.lookup import language
from tiny_llm_course.extension.sources import KERNELS, sources_of
from tiny_llm_course.syllabus import (
    Task,
    file_of,
    kernels,
    name_of,
    symbols,
    tasks,
)

Texts = dict[str, str]
"""The text of every file of a solution, by name: without `.py`, but with `.h`."""

LOOK_EVERY_MS = 500
"""Poll, because network drives and WSL's Windows drives send no change events."""


def saves(folder: Path, texts: Texts) -> Iterator[tuple[Texts, Texts]]:
    """Yield the texts before and after each save in `folder`, until Ctrl-C.

    Saves of its C++ kernels are included, if it has any.

    Watching the folder rather than its files also sees editors that write a new file
    and rename it.

    Args:
        folder: Where the files are.
        texts: Their initial texts.
    """
    kernels = sources_of(folder)
    for _ in watchfiles.watch(
        folder,
        *([kernels / KERNELS] if kernels else []),
        debounce=50,
        step=20,
        rust_timeout=LOOK_EVERY_MS,
        yield_on_timeout=True,
    ):
        before, texts = texts, read_texts(folder)
        if texts != before:
            yield before, texts


def read_texts(folder: Path) -> Texts:
    """Read the files of a solution."""
    kernels = sources_of(folder)
    in_python = {path.stem: path for path in sorted(folder.glob("*.py"))}
    in_cpp = sorted((kernels / KERNELS).glob("*.h")) if kernels else []
    files = in_python | {path.name: path for path in in_cpp}
    return {
        name: path.read_text(encoding="utf-8", errors="replace")
        for name, path in files.items()
    }


def changed_tasks(before: Texts, after: Texts) -> list[Task]:
    """Return the tasks whose symbols differ, in the order of the course.

    A change elsewhere in a file, in a helper or an import, may affect all of it. A
    change in a file of helpers in C++ may affect every kernel.
    """
    parts = {*symbols(), *kernels()}
    changed: set[str] = set()
    for file, text in after.items():
        if text != before.get(file):
            path = Path(file if file.endswith(".h") else f"{file}.py")
            own = {part for part in parts if Path(file_of(part)).name == path.name}
            if path.suffix == ".h":
                own = own or set(kernels())
            changed |= _changed_parts(path, own, before.get(file, ""), text)
    return [task for task in tasks() if changed & set(task.parts)]


def _changed_parts(path: Path, own: set[str], before: str, after: str) -> set[str]:
    """Return the parts of one file that differ, all of them if something else does."""
    old, new = _meanings(path, own, before), _meanings(path, own, after)
    if old is None or new is None or old[""] != new[""]:
        return own
    return {part for part in own if old[part] != new[part]}


def _meanings(path: Path, parts: set[str], text: str) -> dict[str, str] | None:
    """Return what each part of a file does, and the rest of it as "".

    None if it cannot be parsed.
    """
    try:
        code = language(path).parse(text)
    except SyntaxError:
        return None
    found = {part: code.named(name_of(part)) for part in parts}
    graded = [one for definitions in found.values() for one in definitions]
    meanings = {
        part: " ".join(one.meaning for one in ones) for part, ones in found.items()
    }
    return meanings | {"": code.rest(graded)}
