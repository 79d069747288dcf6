"""What a verdict depends on: the code behind a task, its tests, and the grader."""

import ast
import functools
import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from tiny_llm_course.editing import kernels
from tiny_llm_course.editing.lookup import parsed
from tiny_llm_course.editing.source import (
    Import,
    Statement,
    is_docstring,
    meaning,
)
from tiny_llm_course.imports import course_files_behind
from tiny_llm_course.places import Checkout
from tiny_llm_course.syllabus import Task, called_by, tasks

GRADER = ("grading", "oracle")
"""The folders of the course whose code decides what is right, if a test imports it."""

EVERYTHING = "*"
"""Stands for all names of a file, as in an import."""


class Name(NamedTuple):
    """A name in a file of a package."""

    file: str
    name: str


Step = tuple[str, list[Name]]
"""What a statement does, and the names that this depends on."""


def of_verdict(checkout: Checkout, task: Task) -> str:
    """Return a fingerprint that changes when the verdict on a task may change.

    Comments, docstrings and layout do not count, nor do other tasks in the same files.
    """
    tests = checkout.tests / task.test_file
    judges = [one for one in course_files_behind([tests], GRADER) if one != tests]
    symbols = [*task.symbols, *map(called_by, task.kernels)]
    code = _behind(checkout, symbols)
    return _digest([*code, _whole(tests), *map(_meaning_of_judge, judges)])


def of_answer(checkout: Checkout, task: Task) -> str:
    """Return a fingerprint of what a task defines, whatever that calls."""
    in_cpp = (f"{one}: {kernels.definition(checkout, one)}" for one in task.kernels)
    return _digest([*_definitions(checkout.starter, task.symbols), *in_cpp])


def _digest(parts: Iterable[str]) -> str:
    """Boil texts down to a short one."""
    return hashlib.sha256("\n".join(sorted(parts)).encode()).hexdigest()[:16]


def _definitions(folder: Path, symbols: Iterable[str]) -> Iterator[str]:
    """Yield what each symbol does, an empty text where there is none."""
    for symbol in symbols:
        file, name = symbol.split(".")
        source = parsed(folder / f"{file}.py")
        found = source.definition(name) if source else None
        yield f"{symbol}: {found.meaning if found else ''}"


def _behind(checkout: Checkout, symbols: Iterable[str]) -> set[str]:
    """Return all code of the learner that some symbols depend on."""
    folder = checkout.starter
    wanted = [Name(*symbol.split(".")) for symbol in symbols]
    seen, code = set[Name](), set[str]()
    while wanted:
        name = wanted.pop()
        if name in seen:
            continue
        seen.add(name)
        source = parsed(folder / f"{name.file}.py")
        if source is None:
            code.add(_whole(folder / f"{name.file}.py"))
            continue
        for statement in source.statements:
            if _concerns(statement, name.name):
                step = _imports if isinstance(statement.node, Import) else _uses
                for does, leads_to in step(statement, name, folder.name):
                    code.add(f"{name.file}: {does}")
                    wanted += leads_to
    called = {".".join(name) for name in seen}
    in_cpp = [
        kernel
        for one in tasks()
        for kernel in one.kernels
        if called_by(kernel) in called
    ]
    return code | kernels.behind(checkout, in_cpp)


def _concerns(statement: Statement, name: str) -> bool:
    """Tell whether a statement defines `name`, or does more than to define names."""
    if statement.binds and name != EVERYTHING:
        return bool(statement.binds & {name, EVERYTHING})
    return not is_docstring(statement.node)


def _uses(statement: Statement, name: Name, package: str) -> Iterator[Step]:
    """Follow a statement to what it uses in its file."""
    del package
    yield statement.meaning, [Name(name.file, used) for used in statement.uses]


def _imports(statement: Statement, name: Name, package: str) -> Iterator[Step]:
    """Follow an import to the file of the package where `name` comes from."""
    assert isinstance(statement.node, Import)
    for alias in statement.node.names:
        own = alias.asname or alias.name.split(".")[0]
        if name.name not in {own, EVERYTHING} and alias.name != EVERYTHING:
            continue
        module, original = alias.name, EVERYTHING
        if isinstance(statement.node, ast.ImportFrom):
            inside = f"{package}." if statement.node.level else ""
            module, original = inside + (statement.node.module or ""), alias.name
        if module.rstrip(".") == package:
            module, original = f"{package}.{alias.name}", EVERYTHING
        first, _, file = module.partition(".")
        leads_to = [Name(file.replace(".", "/"), original)] if first == package else []
        yield f"{own} is {original} of {module}", leads_to


def _whole(path: Path) -> str:
    """Return what a file does, or all files in the folder that stands for it."""
    files = [path] if path.exists() else sorted(path.with_suffix("").rglob("*.py"))
    return "\n".join(_meaning_of_file(one) for one in files)


def _meaning_of_file(path: Path) -> str:
    """Return what a file does, or what is in it if that is not Python."""
    try:
        return meaning(ast.parse(path.read_bytes()))
    except (SyntaxError, ValueError):
        return repr(path.read_bytes())


@functools.cache
def _meaning_of_judge(path: Path) -> str:
    """Return what a file of the course does. It does not change while it runs."""
    return _meaning_of_file(path)
