"""Finds calls of the library operation that a task asks to write."""

import ast
import contextlib
import functools
from collections.abc import Iterable, Iterator
from pathlib import Path

from tiny_llm_course.syllabus import Task, file_of

_PACKAGES = {"mlx.core": "mx", "mlx.nn": "nn"}


def library_calls(task: Task, folder: Path) -> list[tuple[str, str]]:
    """Return the files of a task that name one of its library operations.

    Args:
        task: The task whose files are read.
        folder: The solution.

    Returns:
        Pairs of a file name and an operation such as "mx.fast.rms_norm".
    """
    files = dict.fromkeys(map(file_of, task.symbols)) if task.library else {}
    named = {file: _names_in(folder / file) for file in files}
    return [
        (file, operation)
        for file, names in named.items()
        for operation in task.library
        if operation in names
    ]


def _names_in(path: Path) -> frozenset[str]:
    """Return the operations of MLX that a file names, however it imports them."""
    with contextlib.suppress(OSError, SyntaxError, UnicodeDecodeError):
        return _names(path.read_text(encoding="utf-8"))
    return frozenset()


@functools.lru_cache(maxsize=8)  # the tasks of a day share their files
def _names(text: str) -> frozenset[str]:
    nodes = list(ast.walk(ast.parse(text)))
    return frozenset(_dotted_names(nodes, dict(_aliases(nodes))))


def _aliases(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, str]]:
    """Yield the names that a file gives to things of MLX, with our names for them."""
    for node in nodes:
        if isinstance(node, ast.Import):
            for one in node.names:
                if one.name in _PACKAGES:
                    yield one.asname or one.name, _PACKAGES[one.name]
        elif isinstance(node, ast.ImportFrom) and node.module:
            for one in node.names:
                whole = f"{node.module}.{one.name}"
                ours = _PACKAGES.get(whole) or _PACKAGES.get(node.module, "")
                own_name = one.asname or one.name
                yield own_name, ours if whole in _PACKAGES else f"{ours}.{one.name}"


def _dotted_names(nodes: Iterable[ast.AST], aliases: dict[str, str]) -> Iterator[str]:
    """Yield every dotted name that begins with an alias, under our name."""
    for node in nodes:
        if isinstance(node, ast.Attribute | ast.Name):
            name = ast.unparse(node)
            for alias, ours in aliases.items():
                if name == alias or name.startswith(f"{alias}."):
                    yield ours + name.removeprefix(alias)
