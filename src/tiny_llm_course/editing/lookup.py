"""Finding the definitions of a task in the learner's files."""

from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache
from pathlib import Path

from tiny_llm_course.catalogue import say
from tiny_llm_course.editing.code import Code, Definition
from tiny_llm_course.editing.cpp_code import CppCode, names_in
from tiny_llm_course.editing.python_code import PythonCode
from tiny_llm_course.errors import CourseError, nearest
from tiny_llm_course.extension.sources import KERNELS
from tiny_llm_course.places import Checkout
from tiny_llm_course.syllabus import (
    file_of,
    is_kernel,
    kernels,
    name_of,
    symbols,
    tasks_of,
)


def language(path: Path) -> type[Code[Definition]]:
    """Return what reads a file."""
    return PythonCode if path.suffix == ".py" else CppCode


def read(path: Path) -> str:
    """Read a file as it is, line ends included.

    Raises:
        SyntaxError: It is not text in UTF-8.
    """
    try:
        return path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise SyntaxError(str(error)) from error


def parsed(path: Path) -> Code[Definition] | None:
    """Find what a file defines. None if it is missing, or cannot be parsed."""
    try:
        return language(path).parse(read(path))
    except (FileNotFoundError, SyntaxError):
        return None


def path_in(folder: Path, part: str) -> Path:
    """Return the file in which a part of a task is to be.

    Args:
        folder: Of a solution, or of its C++ if the part is written in that.
        part: As in `Task.parts`.
    """
    if is_kernel(part):
        return folder / KERNELS / part.partition(":")[0]
    return folder / f"{part.partition('.')[0]}.py"


def path_of(checkout: Checkout, part: str) -> Path:
    """Return the learner's file in which a part of a task is to be."""
    return path_in(checkout.kernels if is_kernel(part) else checkout.starter, part)


def reference_of(checkout: Checkout, path: Path) -> Path:
    """Return the course's version of a file of the learner."""
    if path.suffix == ".py":
        return checkout.reference / path.name
    return checkout.reference_kernels / path.relative_to(checkout.kernels)


def link_to(checkout: Checkout, part: str) -> str:
    """Return the file and line of a part, or the file if it is not there yet."""
    path, name = path_of(checkout, part), name_of(part)
    code = parsed(path)
    if code:
        found = code.named(name)
        return checkout.link(path, code.line_of(found[0]) if found else None)
    text = as_far_as_readable(path)
    looks = language(path).outline(name).search(text)
    line = text.count("\n", 0, looks.start(1)) + 1 if looks else None
    return checkout.link(path, line)


def is_untouched(checkout: Checkout, part: str) -> bool:
    """Tell whether a part is still to be written: a stub, or not there at all."""
    path, name = path_of(checkout, part), name_of(part)
    code = parsed(path)
    if code:
        return _is_missing(code, name)
    text = as_far_as_readable(path)
    is_named = not is_kernel(part) or name in names_in(text)
    return f'todo("{tasks_of(part)[0].address}")' in text or not is_named


def is_stub_in(folder: Path, part: str) -> bool:
    """Tell whether a part of any solution is a stub, or not there at all.

    So is one that does nothing. False if its file cannot be parsed.
    """
    path, name = path_in(folder, part), name_of(part)
    code = parsed(path)
    if code is None:
        return not path.exists()
    return any(one.is_idle for one in code.named(name)) or _is_missing(code, name)


def absence(folder: Path, symbol: str) -> str:
    """Say that the file or the name of a symbol is not there, and what is like it.

    Nothing is said of a file that is not Python.
    """
    path, name = path_in(folder, symbol), name_of(symbol)
    if not path.exists():
        known = set(map(file_of, symbols()))
        found = {one.name for one in folder.glob("*.py")} - known
        close = _alike(path.name, found)
        return say("report.no_file", file=path.name, close=close)
    code = parsed(path)
    if code is None or name in code.names:
        return ""
    close = _alike(name, code.names - graded_names(path))
    return say("report.no_name", file=path.name, name=name, close=close)


def _alike(name: str, others: Collection[str]) -> str:
    """Suggest the one of other names that may be meant, whatever its capitals."""
    by_letters = {one.lower(): one for one in sorted(others)}
    exact = by_letters.get(name.lower())
    return nearest(exact or name, [exact] if exact else sorted(others))


def _is_missing(code: Code[Definition], name: str) -> bool:
    """Tell whether a name is a stub in a file, or not there at all."""
    found = code.named(name)
    return all(one.is_stub for one in found) if found else name not in code.names


def as_far_as_readable(path: Path) -> str:
    """Return the text of a file that may be missing, or not be text."""
    return path.read_bytes().decode("utf-8", "replace") if path.exists() else ""


def by_file(
    checkout: Checkout, parts: Iterable[str]
) -> Iterator[tuple[Path, list[str]]]:
    """Sort the names of parts by the file of the learner: those in C++ come first."""
    files: dict[Path, list[str]] = {}
    for part in sorted(dict.fromkeys(parts), key=is_kernel, reverse=True):
        files.setdefault(path_of(checkout, part), []).append(name_of(part))
    yield from files.items()


@lru_cache(maxsize=256)
def graded_names(path: Path) -> frozenset[str]:
    """Return the names in a file that the learner writes."""
    parts, place = [*symbols(), *kernels()], Path()
    return frozenset(
        name_of(part) for part in parts if path.match(str(path_in(place, part)))
    )


def text_of(checkout: Checkout, path: Path) -> str:
    """Read a file of the learner, which may be missing.

    Raises:
        CourseError: It is not text in UTF-8.
    """
    try:
        return read(path) if path.exists() else ""
    except SyntaxError as error:
        raise CourseError(complaint(checkout, path, error)) from error


def code_of(
    checkout: Checkout, path: Path, names: Iterable[str] = ()
) -> Code[Definition]:
    """Parse a file of the learner, if need be without the bodies of `names`.

    Raises:
        CourseError: It cannot be parsed, and not only because of `names`.
    """
    text, reader = text_of(checkout, path), language(path)
    try:
        return reader.parse(text)
    except SyntaxError:
        for name in names:
            text = reader.emptied(text, name)
    try:
        return reader.parse(text)
    except SyntaxError as error:
        raise CourseError(complaint(checkout, path, error)) from error


def complaint(checkout: Checkout, path: Path, error: SyntaxError) -> str:
    """Say in one line what is wrong with a file."""
    where = checkout.link(path, error.lineno)
    key = "commands.not_python" if path.suffix == ".py" else "commands.not_cpp"
    return say(key, where=where, reason=error.msg)
