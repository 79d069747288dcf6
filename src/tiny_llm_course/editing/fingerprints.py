"""What a verdict depends on: the code of a task, its tests, and the grader."""

import ast
import functools
import hashlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from tiny_llm_course.editing import cpp_code, python_code
from tiny_llm_course.editing.lookup import (
    as_far_as_readable,
    graded_names,
    parsed,
    path_of,
)
from tiny_llm_course.editing.python_code import Import, PythonCode, PythonDefinition
from tiny_llm_course.imports import course_dependencies
from tiny_llm_course.places import Checkout
from tiny_llm_course.syllabus import Task, called_by, name_of, tasks

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
    judges = [one for one in course_dependencies([tests], GRADER) if one != tests]
    symbols = [*task.symbols, *map(called_by, task.kernels)]
    code = _dependencies(checkout, symbols)
    return _digest([*code, _whole(tests), *map(_meaning_of_judge, judges)])


def of_answer(checkout: Checkout, task: Task) -> str:
    """Return a fingerprint of what a task defines, whatever that calls."""
    return _digest(_definition(checkout, part) for part in task.parts)


def _digest(parts: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(sorted(parts)).encode()).hexdigest()[:16]


def _definition(checkout: Checkout, part: str) -> str:
    """Return what a part does, an empty text where there is none."""
    code = parsed(path_of(checkout, part))
    found = code.named(name_of(part)) if code else []
    return f"{part}: {' '.join(one.meaning for one in found)}"


def _dependencies(checkout: Checkout, symbols: Iterable[str]) -> set[str]:
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
        if not isinstance(source, PythonCode):
            code.add(_whole(folder / f"{name.file}.py"))
            continue
        for statement in source.definitions:
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
    return code | _cpp_dependencies(checkout, in_cpp)


def _cpp_dependencies(checkout: Checkout, kernels: Sequence[str]) -> set[str]:
    """Return all code in C++ that some kernels depend on.

    Other kernels in the same files do not count, unless they are called.
    """
    wanted = {name_of(kernel) for kernel in kernels}
    files = {path_of(checkout, kernel) for kernel in kernels}
    while True:
        code = {path: _without(path, graded_names(path) - wanted) for path in files}
        names = set[str]().union(*map(cpp_code.names_in, code.values()))
        called = names & set[str]().union(*map(graded_names, files))
        included = {one for path in files for one in _included(checkout, path)}
        if called <= wanted and included <= files:
            return {
                f"{path.name}: {cpp_code.meaning(text)}" for path, text in code.items()
            }
        wanted |= called
        files |= included


def _without(path: Path, names: Collection[str]) -> str:
    """Return the text of a file without some functions."""
    code = parsed(path)
    if not isinstance(code, cpp_code.CppCode):
        return as_far_as_readable(path)
    left_out = [one for one in code.functions if one.name in names]
    return cpp_code.without(code.text, left_out)


def _included(checkout: Checkout, path: Path) -> Iterator[Path]:
    """Yield the files of the kernels that a file includes, those that are given too."""
    for one in cpp_code.includes(as_far_as_readable(path)):
        name = one[0].partition('"')[2].rstrip('" \r')
        places = (checkout.shared_kernels / name, checkout.kernels / name)
        yield from [file for file in places if file.is_file()][:1]


def _concerns(statement: PythonDefinition, name: str) -> bool:
    """Tell whether a statement defines `name`, or does more than to define names."""
    if statement.names and name != EVERYTHING:
        return bool(statement.names & {name, EVERYTHING})
    return not statement.is_docstring


def _uses(statement: PythonDefinition, name: Name, package: str) -> Iterator[Step]:
    """Follow a statement to what it uses in its file."""
    del package
    yield statement.meaning, [Name(name.file, used) for used in statement.uses]


def _imports(statement: PythonDefinition, name: Name, package: str) -> Iterator[Step]:
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
    return _meaning(path.read_bytes())


@functools.lru_cache(maxsize=512)  # the tests of a day belong to several tasks
def _meaning(code: bytes) -> str:
    try:
        return python_code.meaning_of_text(code)
    except (SyntaxError, ValueError):
        return repr(code)


@functools.cache
def _meaning_of_judge(path: Path) -> str:
    """Return what a file of the course does. It does not change while it runs."""
    return _meaning_of_file(path)
