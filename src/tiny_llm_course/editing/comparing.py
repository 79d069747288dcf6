"""The learner's definitions beside those of the reference."""

import difflib
from collections.abc import Iterable, Iterator
from pathlib import Path

from tiny_llm_course.catalogue import say
from tiny_llm_course.editing import kernels
from tiny_llm_course.editing.lookup import as_python, by_file, graded_names
from tiny_llm_course.editing.source import Import, Source, read
from tiny_llm_course.places import Checkout
from tiny_llm_course.syllabus import is_kernel


def difference(checkout: Checkout, symbols: Iterable[str]) -> Iterator[str]:
    """Yield the lines of a diff from the learner's definitions to the reference's.

    Helpers that a definition uses are part of it. Nothing for a file where both are
    the same.

    Raises:
        CourseError: A file is not Python, or not C++.
    """
    parts = list(symbols)
    yield from kernels.difference(checkout, filter(is_kernel, parts))
    in_python = [part for part in parts if not is_kernel(part)]
    for path, names in by_file(checkout, in_python):
        reference = checkout.reference / path.name
        mine = _lines(as_python(checkout, path), path, names)
        ours = _lines(read(reference), path, names)
        before = say("commands.solution.yours", place=checkout.link(path))
        after = say("commands.solution.ours", place=checkout.link(reference))
        for line in difflib.unified_diff(mine, ours, before, after, lineterm=""):
            yield "@@" if line.startswith("@@") else line


def _lines(text: str, path: Path, names: list[str]) -> list[str]:
    """Return the lines of some definitions, with the helpers that they use."""
    source = Source.parse(text)
    graded = graded_names(path)
    needed = {one for name in names for one in source.behind(name, graded - {name})}
    parts = [
        source.text(one)
        for one in source.statements
        if one in needed and not isinstance(one.node, Import)
    ]
    return "\n\n\n".join(parts).splitlines()
