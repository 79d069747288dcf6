"""What `reset`, `skip` and `update` are going to write, worked out before they do."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tiny_llm_course.editing import kernels, starter
from tiny_llm_course.editing.editing import put, without_leftovers
from tiny_llm_course.editing.lookup import (
    as_python,
    by_file,
    graded_names,
    not_python,
    text_of,
)
from tiny_llm_course.editing.saving import Change
from tiny_llm_course.editing.source import (
    Import,
    Source,
    Statement,
    is_docstring,
    is_stub,
    read,
)
from tiny_llm_course.places import Checkout
from tiny_llm_course.syllabus import is_kernel

NEW = "new"
RENEWED = "renewed"
KEPT = "kept"
GIVEN = "given"


@dataclass(frozen=True)
class FileUpdate:
    """What a new version of the course brings to one file.

    Attributes:
        path: The file.
        text: What it is going to hold. None if it goes.
        news: NEW, RENEWED, KEPT or GIVEN, and the name that this is said of, which is
            empty for a whole file.
        problem: One line that says why the file is left alone.
    """

    path: Path
    text: str | None = ""
    news: tuple[tuple[str, str], ...] = ()
    problem: str = ""


def plan_reset(checkout: Checkout, symbols: Iterable[str]) -> list[Change]:
    """Put the stubs of some symbols back, and nothing else.

    Raises:
        CourseError: A file is not Python, and not only because of these symbols.
    """
    return _plan(checkout, symbols, to_stub=True)


def plan_skip(checkout: Checkout, symbols: Iterable[str]) -> list[Change]:
    """Put in the reference's definitions of some symbols, with what these need.

    Raises:
        CourseError: A file is not Python, and not only because of these symbols.
    """
    return _plan(checkout, symbols, to_stub=False)


def plan_update(checkout: Checkout) -> list[FileUpdate]:
    """Bring new files, new names, and the new stubs of what is not started yet."""
    updates: list[FileUpdate] = []
    for name, stub in starter.generate(checkout.reference).items():
        path = checkout.starter / name
        if not path.exists():
            updates.append(FileUpdate(path, stub, ((NEW, ""),)))
            continue
        try:
            updates.append(_update(path, read(path), stub))
        except SyntaxError as error:
            updates.append(FileUpdate(path, problem=not_python(checkout, path, error)))
    return updates


def _plan(checkout: Checkout, symbols: Iterable[str], *, to_stub: bool) -> list[Change]:
    """Replace the definitions of some symbols by their stubs, or by the solutions."""
    parts = list(symbols)
    in_cpp = [part for part in parts if is_kernel(part)]
    changes = list(kernels.plan(checkout, in_cpp, to_stub=to_stub))
    in_python = [part for part in parts if not is_kernel(part)]
    for path, names in by_file(checkout, in_python):
        reference = read(checkout.reference / path.name)
        stub = starter.stub(reference, path.stem)
        old = text_of(checkout, path)
        text = as_python(checkout, path, names) or stub
        for name in names:
            others = graded_names(path) - {name}
            text = put(text, stub if to_stub else reference, name, others)
        text = without_leftovers(text, reference)
        changes += [Change(path, text)] if text != old else []
    return changes


def _update(path: Path, text: str, stub: str) -> FileUpdate:
    """Bring what is new in the stub into one file."""
    giver, graded = Source.parse(stub), graded_names(path)
    news: list[tuple[str, str]] = []
    for statement in _given(giver):
        (name,) = statement.binds
        what = _news(Source.parse(text), giver, statement, is_graded=name in graded)
        if what:
            news.append((what, name))
        if what in {NEW, RENEWED}:
            text = put(text, stub, name, graded - {name})
    return FileUpdate(path, text, tuple(news))


def _news(
    target: Source, giver: Source, statement: Statement, *, is_graded: bool
) -> str:
    """Say what a statement of the stub is to the learner's file, "" for no news."""
    (name,) = statement.binds
    if name not in target.names:
        return NEW
    theirs = target.definition(name)
    if is_graded:
        is_old = theirs and target.text(theirs) != giver.text(statement)
        return RENEWED if theirs and is_old and is_stub(target, theirs) else ""
    is_same = theirs and theirs.meaning == statement.meaning
    return "" if is_same else KEPT


def _given(giver: Source) -> Iterator[Statement]:
    """Yield what a stub defines."""
    for statement in giver.statements:
        if not (isinstance(statement.node, Import) or is_docstring(statement.node)):
            yield statement
