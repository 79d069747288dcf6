"""The learner's definitions beside those of the reference."""

import difflib
from collections.abc import Iterable, Iterator
from pathlib import Path

from tiny_llm_course.catalogue import say
from tiny_llm_course.editing.code import Code, Definition
from tiny_llm_course.editing.lookup import (
    by_file,
    code_of,
    graded_names,
    language,
    read,
    reference_of,
)
from tiny_llm_course.editing.plans import words_of
from tiny_llm_course.editing.stub_texts import with_words
from tiny_llm_course.places import Checkout


def difference(checkout: Checkout, parts: Iterable[str]) -> Iterator[str]:
    """Yield the lines of a diff from the learner's definitions to the reference's.

    Helpers that a definition uses are part of it. Nothing for a file where both are
    the same.

    Raises:
        CourseError: A file is not Python, or not C++.
    """
    words = words_of(checkout)
    for path, names in by_file(checkout, parts):
        reference = reference_of(checkout, path)
        mine = _lines(code_of(checkout, path), path, names)
        source = with_words(read(reference), path.name, words)
        ours = _lines(language(path).parse(source), path, names)
        before = say("commands.solution.yours", place=checkout.link(path))
        after = say("commands.solution.ours", place=checkout.link(reference))
        for line in difflib.unified_diff(mine, ours, before, after, lineterm=""):
            yield "@@" if line.startswith("@@") else line


def _lines(code: Code[Definition], path: Path, names: list[str]) -> list[str]:
    """Return the lines of some definitions, with the helpers that they use."""
    graded = graded_names(path)
    needed = {one for name in names for one in code.dependencies(name, graded - {name})}
    parts = [
        one.text for one in code.definitions if one in needed and not one.is_import
    ]
    return code.GAP.join(parts).splitlines()
