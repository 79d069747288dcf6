"""Putting a definition of the course into a file of the learner.

The definition comes from a donor: the generated stub, or the reference. All else in
the learner's file stays: other definitions, helpers, imports.
"""

import ast
import re
from itertools import dropwhile, takewhile

from tiny_llm_course.editing.source import (
    Import,
    Source,
    Statement,
    header,
    is_docstring,
    split_lines,
)

BETWEEN_DEFINITIONS = "\n\n\n"


def put(text: str, donor: str, name: str, others: frozenset[str]) -> str:
    """Replace one definition by the donor's, and bring what that one needs.

    Args:
        text: A file of the learner.
        donor: The course's version of that file.
        name: What to replace, or to add where the file has nothing of that name.
        others: What the learner writes as well. It is never brought along.

    Raises:
        SyntaxError: `text` is not Python.
    """
    target, giver = Source.parse(text), Source.parse(donor)
    needed = giver.behind(name, others)
    block = _block(target, giver, name, needed)
    old, below = target.definition(name), _below(target, giver, name)
    if old:
        text = target.replaced(old.start, old.end, f"{block}\n")
    elif below is not None:
        text = target.replaced(below, below, block + BETWEEN_DEFINITIONS)
    else:
        end = len(target.lines)
        text = target.replaced(end, end, f"\n\n{block}\n")
    for statement in needed:
        if isinstance(statement.node, Import):
            text = _with_names(text, statement.node)
    return text


def emptied(text: str, name: str) -> str:
    """Cut a definition down to one line, in a file that is not Python.

    If the mistake is in the definition, the file is Python afterwards. Where it ends
    is told by its looks: at the next line that begins with a letter or an "@". All
    other lines keep their numbers.
    """
    lines = split_lines(text)
    start = header(lines, name)
    if start is None:
        return text
    end = start + 1
    while end < len(lines) and not re.match(r"[\w@]", lines[end]):
        end += 1
    while not lines[end - 1].strip() or lines[end - 1].startswith("#"):
        end -= 1
    while start and lines[start - 1].startswith("@"):
        start -= 1
    empty = [f"def {name}(): ...\n", *["    #\n"] * (end - start - 1)]
    return "".join([*lines[:start], *empty, *lines[end:]])


def without_leftovers(text: str, reference: str) -> str:
    """Take out the private helpers of the reference that nothing uses any more.

    Args:
        text: A file of the learner.
        reference: The course's version of that file.
    """
    ours = {one.meaning for one in Source.parse(reference).statements}
    while True:
        source = Source.parse(text)
        leftovers = [
            one
            for one in source.statements
            if _is_unused_helper(one, source) and one.meaning in ours
        ]
        if not leftovers:
            return text
        start = leftovers[0].start
        while start and not source.lines[start - 1].strip():
            start -= 1
        text = source.replaced(start, leftovers[0].end, "")


def with_import(text: str, line: str) -> str:
    """Add an import behind the last one of its kind, absolute or relative.

    What comes from the course gets a section of its own, as the import order of the
    project wants it.
    """
    source = Source.parse(text)
    top = takewhile(
        lambda one: isinstance(one.node, Import) or is_docstring(one.node),
        source.statements,
    )
    above = list(top)
    alike = [
        one for one in above if _is_relative(one.node) == line.startswith("from .")
    ]
    at = (alike or above)[-1].end if above else 0
    section = "\n" if line.startswith("from tiny_llm_course") else ""
    return source.replaced(at, at, f"{section}{line}\n")


def _block(target: Source, giver: Source, name: str, needed: list[Statement]) -> str:
    """Write the definition, with the helpers that the target does not have.

    A helper whose name stands for other code in the target gets a longer name: theirs
    may be in use.
    """
    parts = [
        one
        for one in needed
        if name in one.binds or not (isinstance(one.node, Import) or _has(target, one))
    ]
    block = BETWEEN_DEFINITIONS.join(giver.text(one) for one in parts)
    for part in parts:
        for taken in part.binds & target.names - {name}:
            block = re.sub(rf"\b{taken}\b", _free_name(taken, target), block)
    return block


def _has(target: Source, statement: Statement) -> bool:
    """Tell whether the target has a helper of the course.

    What was given in the stub may have been changed by the learner, and counts. What
    belongs to an answer has to be the same.
    """
    (name,) = statement.binds
    theirs = target.definition(name)
    is_same = theirs is not None and theirs.meaning == statement.meaning
    return is_same or (name in target.names and not name.startswith("_"))


def _free_name(name: str, target: Source) -> str:
    """Make a name that the target does not use yet."""
    while name in target.names:
        name += "_of_reference"
    return name


def _below(target: Source, giver: Source, name: str) -> int | None:
    """Return the line of the definition that a new one has to stand above.

    It is the next one of the donor, which may need the new one. None puts it at the
    end: there it also outweighs whatever else has its name.
    """
    if name in target.names:
        return None
    behind = dropwhile(lambda one: name not in one.binds, giver.statements)
    known = [target.definition(next_name) for one in behind for next_name in one.binds]
    theirs = next((one for one in known if one), None)
    if theirs is None:
        return None
    at = theirs.start
    while at and target.lines[at - 1].startswith("#"):
        at -= 1
    return at


def _with_names(text: str, node: Import) -> str:
    """Import those names of `node` that the file does not have."""
    known = Source.parse(text).names
    missing = [
        one
        for one in node.names
        if (one.asname or one.name.partition(".")[0]) not in known
    ]
    if not missing:
        return text
    if isinstance(node, ast.Import):
        return with_import(text, ast.unparse(ast.Import(missing)))
    only = ast.ImportFrom(node.module, missing, node.level)
    return with_import(text, ast.unparse(only))


def _is_unused_helper(statement: Statement, source: Source) -> bool:
    """Tell whether a statement defines a private name that nothing else looks up."""
    others = (one for one in source.statements if one is not statement)
    used = frozenset[str]().union(*(one.uses for one in others))
    return any(name.startswith("_") for name in statement.binds - used)


def _is_relative(node: ast.stmt) -> bool:
    """Tell whether a statement imports a neighbour."""
    return isinstance(node, ast.ImportFrom) and node.level > 0
