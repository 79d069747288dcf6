"""Finding the definitions of a task in the learner's files."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path

from tiny_llm_course.catalogue import say
from tiny_llm_course.editing import kernels
from tiny_llm_course.editing.editing import emptied
from tiny_llm_course.editing.source import (
    Source,
    header,
    is_stub,
    read,
    split_lines,
)
from tiny_llm_course.errors import CourseError, nearest
from tiny_llm_course.idle import does_nothing
from tiny_llm_course.places import Checkout
from tiny_llm_course.syllabus import file_of, is_kernel, tasks, tasks_of


def parsed(path: Path) -> Source | None:
    """Cut a file into statements. None if there is none, or if it is not Python."""
    try:
        return Source.parse(read(path))
    except (FileNotFoundError, SyntaxError):
        return None


def path_of(checkout: Checkout, symbol: str) -> Path:
    """Return the learner's file in which a symbol is to be."""
    return checkout.starter / f"{symbol.partition('.')[0]}.py"


def link_to(checkout: Checkout, symbol: str) -> str:
    """Return the file and line of a symbol, or the file if it is not there yet."""
    if is_kernel(symbol):
        return kernels.link_to(checkout, symbol)
    path, name = path_of(checkout, symbol), symbol.split(".")[1]
    source = parsed(path)
    if source:
        found = source.definition(name)
        return checkout.link(path, found.node.lineno if found else None)
    at = header(split_lines(_as_far_as_readable(path)), name)
    return checkout.link(path, None if at is None else at + 1)


def is_untouched(checkout: Checkout, symbol: str) -> bool:
    """Tell whether a symbol is still to be written: a stub, or not there at all."""
    if is_kernel(symbol):
        return kernels.is_untouched(checkout, symbol)
    path, name = path_of(checkout, symbol), symbol.split(".")[1]
    source = parsed(path)
    if source is None:
        return f'todo("{tasks_of(symbol)[0].address}")' in _as_far_as_readable(path)
    return _is_missing(source, name)


def is_stub_in(folder: Path, symbol: str) -> bool:
    """Tell whether a symbol of any solution is a stub, or not there at all.

    So is one that does nothing. False if its file is not Python.
    """
    file, name = symbol.split(".")
    path = folder / f"{file}.py"
    source = parsed(path)
    if source is None:
        return not path.exists()
    found = source.definition(name)
    is_idle = found is not None and does_nothing(found.node)
    return is_idle or _is_missing(source, name)


def absence(folder: Path, symbol: str) -> str:
    """Say that the file or the name of a symbol is not there, and what is like it.

    Nothing is said of a file that is not Python.
    """
    file, name = symbol.split(".")
    path = folder / f"{file}.py"
    if not path.exists():
        known = {file_of(one) for task in tasks() for one in task.symbols}
        found = {one.name for one in folder.glob("*.py")} - known
        close = _alike(path.name, found)
        return say("report.no_file", file=path.name, close=close)
    source = parsed(path)
    if source is None or name in source.names:
        return ""
    close = _alike(name, source.names - graded_names(path))
    return say("report.no_name", file=path.name, name=name, close=close)


def _alike(name: str, others: Collection[str]) -> str:
    """Suggest the one of other names that may be meant, whatever its capitals."""
    by_letters = {one.lower(): one for one in sorted(others)}
    exact = by_letters.get(name.lower())
    return nearest(exact or name, [exact] if exact else sorted(others))


def _is_missing(source: Source, name: str) -> bool:
    """Tell whether a name is a stub in a file, or not there at all."""
    found = source.definition(name)
    return is_stub(source, found) if found else name not in source.names


def _as_far_as_readable(path: Path) -> str:
    """Return the text of a file that may be missing, or not be text."""
    return path.read_bytes().decode("utf-8", "replace") if path.exists() else ""


def by_file(
    checkout: Checkout, symbols: Iterable[str]
) -> Iterator[tuple[Path, list[str]]]:
    """Sort symbols by the file of the learner in which they are."""
    files: dict[str, list[str]] = {}
    for symbol in dict.fromkeys(symbols):
        file, name = symbol.split(".")
        files.setdefault(file, []).append(name)
    for file, names in files.items():
        yield checkout.starter / f"{file}.py", names


def graded_names(path: Path) -> frozenset[str]:
    """Return the names in a file that the learner writes."""
    symbols = (symbol.split(".") for task in tasks() for symbol in task.symbols)
    return frozenset(name for file, name in symbols if file == path.stem)


def text_of(checkout: Checkout, path: Path) -> str:
    """Read a file of the learner, which may be missing.

    Raises:
        CourseError: It is not text in UTF-8.
    """
    try:
        return read(path) if path.exists() else ""
    except SyntaxError as error:
        raise CourseError(not_python(checkout, path, error)) from error


def as_python(checkout: Checkout, path: Path, names: Sequence[str] = ()) -> str:
    """Return the text of a file, if need be without the bodies of `names`.

    Raises:
        CourseError: The file is not Python, and not only because of `names`.
    """
    text = text_of(checkout, path)
    try:
        Source.parse(text)
    except SyntaxError:
        for name in names:
            text = emptied(text, name)
    try:
        Source.parse(text)
    except SyntaxError as error:
        raise CourseError(not_python(checkout, path, error)) from error
    return text


def not_python(checkout: Checkout, path: Path, error: SyntaxError) -> str:
    """Say in one line what is wrong with a file."""
    where = checkout.link(path, error.lineno)
    return say("commands.not_python", where=where, reason=error.msg)
