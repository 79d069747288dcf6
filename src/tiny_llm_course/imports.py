"""The files of the course that a file imports, directly or through others."""

import ast
import functools
from collections.abc import Iterable, Iterator
from pathlib import Path

COURSE = Path(__file__).parent

KEPT = "tiny_llm_course.oracle.cached"
"""Names imported from this module stand for the modules beside it."""


def course_dependencies(
    files: Iterable[Path], folders: Iterable[str] = ()
) -> list[Path]:
    """Return files and all that they import from the course, sorted by path.

    Imports inside functions count as well, and imports of single names are followed.

    Args:
        files: Where to start.
        folders: The parts of the course to follow, such as "oracle". By default all.
    """
    within = tuple(COURSE / folder for folder in folders) or (COURSE,)
    found, wanted = set[Path](), list(files)
    while wanted:
        path = wanted.pop()
        if path not in found:
            found.add(path)
            wanted += [
                one
                for one in imported_files(path)
                if any(one.is_relative_to(folder) for folder in within)
            ]
    return sorted(found)


@functools.cache
def imported_files(path: Path) -> tuple[Path, ...]:
    """Return the files of the course that a file imports directly."""
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return ()
    places = {one for node in statements(tree) for one in _modules(node)}
    return tuple(sorted(filter(Path.exists, places)))


def statements(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield a file and all statements in it, without the expressions in these."""
    found: list[ast.AST] = [tree]
    for one in found:
        yield one
        for part in ("body", "orelse", "finalbody", "handlers", "cases"):
            found += getattr(one, part, ())


def _modules(node: ast.AST) -> Iterator[Path]:
    """Yield where the modules that a statement imports would be in the course."""
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom) and node.module:
        names = [node.module, *(f"{node.module}.{one.name}" for one in node.names)]
        if node.module == KEPT:
            names += [f"{KEPT.rpartition('.')[0]}.{one.name}" for one in node.names]
    else:
        return
    for name in names:
        package, *parts = name.split(".")
        if package == COURSE.name and parts:
            yield COURSE.joinpath(*parts).with_suffix(".py")
            yield COURSE.joinpath(*parts, "__init__.py")
