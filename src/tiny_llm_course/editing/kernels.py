"""The learner's functions in C++: where they are, and what becomes of them."""

import difflib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from tiny_llm_course.catalogue import say
from tiny_llm_course.editing.cpp import CppSource, includes, is_stub, meaning, names_in
from tiny_llm_course.editing.cpp_editing import emptied, put, without_leftovers
from tiny_llm_course.editing.saving import Change
from tiny_llm_course.editing.starter import answer_files, kernel_stub
from tiny_llm_course.errors import CourseError
from tiny_llm_course.extension.sources import KERNELS
from tiny_llm_course.places import Checkout
from tiny_llm_course.syllabus import name_of, tasks, tasks_of


def path_of(checkout: Checkout, kernel: str) -> Path:
    """Return the learner's file in which a kernel is to be."""
    return checkout.kernels / KERNELS / kernel.partition(":")[0]


def link_to(checkout: Checkout, kernel: str) -> str:
    """Return the file and line of a kernel, or the file if it is not there yet."""
    path = path_of(checkout, kernel)
    source = _parsed(path)
    found = source.named(name_of(kernel)) if source else []
    line = source.line_of(found[0]) if source and found else None
    return checkout.link(path, line)


def is_untouched(checkout: Checkout, kernel: str) -> bool:
    """Tell whether a kernel is still to be written: a stub, or not there at all."""
    path, name = path_of(checkout, kernel), name_of(kernel)
    source = _parsed(path)
    if source is None:
        readable = _as_far_as_readable(path)
        stub = f'todo("{tasks_of(kernel)[0].address}")'
        return stub in readable or name not in names_in(readable)
    return is_stub(source, source.named(name))


def is_stub_in(sources: Path, kernel: str) -> bool:
    """Tell whether a kernel of any solution is a stub, or not there at all.

    Args:
        sources: The folder of its C++.
        kernel: As in `Task.kernels`.

    Returns:
        False as well if its file is not C++.
    """
    path = sources / KERNELS / kernel.partition(":")[0]
    source = _parsed(path)
    return is_stub(source, source.named(name_of(kernel))) if source else False


def plan(
    checkout: Checkout, kernels: Iterable[str], *, to_stub: bool
) -> Iterator[Change]:
    """Replace some kernels by their stubs, or by the solutions.

    Raises:
        CourseError: A file is not C++, and not only because of these kernels.
    """
    hidden = answer_files(checkout.reference_kernels)
    brought: set[str] = set()
    for path, names in by_file(checkout, kernels):
        reference = _reference_of(checkout, path).read_text(encoding="utf-8")
        stub = kernel_stub(reference, path.name, hidden)
        old = _text_of(checkout, path)
        text = _as_cpp(checkout, path, names) or stub
        for name in names:
            text = put(text, stub if to_stub else reference, name)
        text = without_leftovers(text, reference)
        if text != old:
            yield Change(path, text)
        brought |= {one for one in hidden if f'"{one}"' in text}
    for name in sorted(hidden if brought else ()):
        if not (checkout.kernels / name).exists():
            text = (checkout.reference_kernels / name).read_text(encoding="utf-8")
            yield Change(checkout.kernels / name, text)


def difference(checkout: Checkout, kernels: Iterable[str]) -> Iterator[str]:
    """Yield the lines of a diff from the learner's kernels to the reference's.

    Raises:
        CourseError: A file is not C++.
    """
    for path, names in by_file(checkout, kernels):
        reference = _reference_of(checkout, path)
        mine = _lines(_as_cpp(checkout, path), names)
        ours = _lines(reference.read_text(encoding="utf-8"), names)
        before = say("commands.solution.yours", place=checkout.link(path))
        after = say("commands.solution.ours", place=checkout.link(reference))
        for line in difflib.unified_diff(mine, ours, before, after, lineterm=""):
            yield "@@" if line.startswith("@@") else line


def definition(checkout: Checkout, kernel: str) -> str:
    """Return what a kernel does, an empty text where there is none."""
    source = _parsed(path_of(checkout, kernel))
    found = source.named(name_of(kernel)) if source else []
    return " ".join(meaning(source.text_of(one)) for one in found if source)


def behind(checkout: Checkout, kernels: Sequence[str]) -> set[str]:
    """Return all code in C++ that some kernels depend on.

    Other kernels in the same files do not count, unless they are called.
    """
    wanted = {name_of(kernel) for kernel in kernels}
    files = {path_of(checkout, kernel) for kernel in kernels}
    while True:
        code = {path: _without(path, graded_names(path) - wanted) for path in files}
        names = set[str]().union(*map(names_in, code.values()))
        called = names & set[str]().union(*map(graded_names, files))
        included = {one for path in files for one in _included(checkout, path)}
        if called <= wanted and included <= files:
            return {f"{path.name}: {meaning(text)}" for path, text in code.items()}
        wanted |= called
        files |= included


def by_file(
    checkout: Checkout, kernels: Iterable[str]
) -> Iterator[tuple[Path, list[str]]]:
    """Sort the names of kernels by the file of the learner in which they are."""
    files: dict[Path, list[str]] = {}
    for kernel in dict.fromkeys(kernels):
        files.setdefault(path_of(checkout, kernel), []).append(name_of(kernel))
    yield from files.items()


def graded_names(path: Path) -> set[str]:
    """Return the names in a file that the learner writes."""
    kernels = (kernel for task in tasks() for kernel in task.kernels)
    return {name_of(one) for one in kernels if one.startswith(f"{path.name}:")}


def not_cpp(checkout: Checkout, path: Path, error: SyntaxError) -> str:
    """Say in one line what is wrong with a file."""
    where = checkout.link(path, error.lineno)
    return say("commands.not_cpp", where=where, reason=error.msg)


def _reference_of(checkout: Checkout, path: Path) -> Path:
    """Return the course's version of a file."""
    return checkout.reference_kernels / path.relative_to(checkout.kernels)


def _lines(text: str, names: Sequence[str]) -> list[str]:
    """Return the lines of some functions, and of private helpers if they use any."""
    source = CppSource.parse(text)
    found = [one for one in source.functions if one.name in names]
    used = names_in("".join(map(source.text_of, found)))
    helpers = [one for one in source.private if one.name in used]
    blocks = sorted([*helpers, *found], key=lambda one: one.start)
    return "\n\n".join(map(source.text_of, blocks)).splitlines()


def _without(path: Path, names: set[str]) -> str:
    """Return the text of a file without some functions."""
    text, source = _as_far_as_readable(path), _parsed(path)
    for one in reversed(source.functions if source else ()):
        if one.name in names:
            text = text[: one.start] + text[one.end :]
    return text


def _included(checkout: Checkout, path: Path) -> Iterator[Path]:
    """Yield the files of the kernels that a file includes, those that are given too."""
    for one in includes(_as_far_as_readable(path)):
        name = one.text.partition('"')[2].rstrip('" ')
        places = (checkout.shared_kernels / name, checkout.kernels / name)
        yield from [file for file in places if file.is_file()][:1]


def _parsed(path: Path) -> CppSource | None:
    """Find the functions of a file. None if it is missing, or not C++."""
    try:
        return CppSource.parse(path.read_bytes().decode("utf-8"))
    except (FileNotFoundError, SyntaxError, UnicodeDecodeError):
        return None


def _as_far_as_readable(path: Path) -> str:
    """Return the text of a file that may be missing, or not be text."""
    return path.read_bytes().decode("utf-8", "replace") if path.exists() else ""


def _text_of(checkout: Checkout, path: Path) -> str:
    """Read a file of the learner, which may be missing.

    Raises:
        CourseError: It is not text in UTF-8.
    """
    try:
        return path.read_bytes().decode("utf-8") if path.exists() else ""
    except UnicodeDecodeError as error:
        problem = SyntaxError(str(error))
        raise CourseError(not_cpp(checkout, path, problem)) from error


def _as_cpp(checkout: Checkout, path: Path, names: Sequence[str] = ()) -> str:
    """Return the text of a file, if need be without the bodies of `names`.

    Raises:
        CourseError: The file is not C++, and not only because of `names`.
    """
    text = _text_of(checkout, path)
    try:
        CppSource.parse(text)
    except SyntaxError:
        for name in names:
            text = emptied(text, name)
    try:
        CppSource.parse(text)
    except SyntaxError as error:
        raise CourseError(not_cpp(checkout, path, error)) from error
    return text
