"""Finds the tasks that a saved file has changed."""

import ast
from collections.abc import Iterator
from pathlib import Path

import watchfiles

from tiny_llm_course.editing.cpp_code import CppCode, meaning
from tiny_llm_course.extension.sources import KERNELS, sources_of
from tiny_llm_course.syllabus import Task, tasks

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

    A change elsewhere in a file, in a helper or an import, may affect all of it.
    """
    changed: set[str] = set()
    for file, text in after.items():
        if text != before.get(file):
            compare = _changed_kernels if file.endswith(".h") else _changed_symbols
            changed |= compare(file, before.get(file, ""), text)
    return [task for task in tasks() if changed & set(task.parts)]


def _changed_kernels(file: str, before: str, after: str) -> set[str]:
    """Return the kernels of one file that differ, all of them if something else does.

    A change in a file of helpers may affect every kernel.
    """
    known = {kernel for task in tasks() for kernel in task.kernels}
    own = {kernel for kernel in known if kernel.startswith(f"{file}:")}
    old, new = _functions(before), _functions(after)
    if not own:
        return set() if old == new else known
    if old is None or new is None:
        return own
    names = {name for name in old.keys() | new.keys() if old.get(name) != new.get(name)}
    kernels = {f"{file}:{name}" for name in names}
    return kernels if kernels <= own else own


def _functions(text: str) -> dict[str, str] | None:
    """Return the functions of a file by name, and the rest of the file as "".

    None if it is not C++.
    """
    try:
        source = CppCode.parse(text)
    except SyntaxError:
        return None
    found = {"": meaning(text)}
    for one in source.functions:
        found[one.name] = found.get(one.name, "") + one.meaning
        found[""] = found[""].replace(one.meaning, "")
    return found


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
    """Return a file's definitions by name, without comments. None if it is invalid."""
    try:
        body = ast.parse(text).body
    except SyntaxError:
        return None
    return {
        getattr(node, "name", f"statement {index}"): ast.dump(node)
        for index, node in enumerate(body)
    }
