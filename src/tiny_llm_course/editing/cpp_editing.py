"""Putting a function of the course into a C++ file of the learner, or its stub.

As in Python, all else in the learner's file stays: other functions, helpers, includes.
"""

import re
from collections.abc import Collection, Mapping, Sequence

from tiny_llm_course.editing.cpp import (
    BROUGHT,
    PRIVATE,
    Block,
    CppSource,
    directives,
    includes,
    meaning,
    names_in,
)

TODO_INCLUDE = '#include "kernels/todo.h"'


def stubbed(text: str, tasks: Mapping[str, str]) -> str:
    """Take the answers out of a file.

    Args:
        text: The file of the reference.
        tasks: The address of the task, for each function that is an answer.
    """
    source = CppSource.parse(text)
    edits = [
        (one.body, one.end, f'{{\n  todo("{tasks[one.name]}");\n}}')
        for one in source.functions
        if one.name in tasks
    ]
    if not edits:
        return text
    edits += [(*_whole_lines(text, one), "") for one in source.private]
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    nothing = r"^#if[^\n]*\n\s*(#else[^\n]*\n\s*)?#endif[^\n]*\n\n?"
    text = re.sub(nothing, "", text, flags=re.MULTILINE)
    return _with_includes(text, [TODO_INCLUDE])


def put(text: str, donor: str, name: str) -> str:
    """Replace the functions of one name by the donor's, and bring what these need.

    Args:
        text: A file of the learner.
        donor: The course's version of that file.
        name: What to replace, or to add where the file has nothing of that name.

    Raises:
        SyntaxError: A bracket of `text` has no counterpart.
    """
    source, giver = CppSource.parse(text), CppSource.parse(donor)
    wanted = giver.named(name)
    blocks = [giver.text_of(one) for one in wanted]
    helpers = [
        _lines_of(giver, one)
        for one in giver.private
        if PRIVATE in names_in("".join(blocks)) and one.start < wanted[-1].start
    ]
    if helpers and _has_private_of_its_own(source, giver):
        blocks, helpers = map(_with_other_names, (blocks, helpers))
    text = _with_functions(source, giver, name, blocks)
    for helper in helpers:
        text = _with_helper(text, giver, helper)
    return _with_includes(text, [one.text for one in includes(donor)])


def _with_functions(
    source: CppSource, giver: CppSource, name: str, blocks: Sequence[str]
) -> str:
    """Put functions in the place of those that the file has, or where they belong."""
    own = source.named(name)
    if len(own) != len(blocks):
        text = source.text
        for one in reversed(own):
            start, end = _whole_lines(text, one)
            text = text[:start] + text[end:]
        source = CppSource.parse(text)
        at = _place(source, giver, giver.named(name)[0].start)
        return source.replaced(at, at, "".join(f"{one}\n\n" for one in blocks))
    for one, block in reversed(list(zip(own, blocks, strict=True))):
        source = CppSource.parse(source.replaced(one.start, one.end, block))
    return source.text


def _with_other_names(texts: Sequence[str]) -> list[str]:
    """Call the private namespace of the answer by another name."""
    return [re.sub(rf"\b{PRIVATE}\b", BROUGHT, text) for text in texts]


def emptied(text: str, name: str) -> str:
    """Cut a function down to nothing, in a file whose brackets do not match.

    Where it ends is told by its looks: at a brace at the very left. All other lines
    keep their numbers.
    """
    begins = rf"^(?:template[^\n]*\n)?[^\s/#}}][^\n;=]*\b{re.escape(name)}\("
    found = re.search(begins, text, re.MULTILINE)
    closing = found and re.compile(r"^}", re.MULTILINE).search(text, found.end())
    if not found or not closing:
        return text
    lines = "\n" * text.count("\n", found.start(), closing.end())
    return f"{text[: found.start()]}void {name}() {{{lines}}}{text[closing.end() :]}"


def without_leftovers(text: str, reference: str) -> str:
    """Take out the private helpers of the reference that nothing uses any more.

    Args:
        text: A file of the learner.
        reference: The course's version of that file.
    """
    source, ours = CppSource.parse(text), CppSource.parse(reference)
    known = {_kind(ours.text_of(one)) for one in ours.private}
    rest = text
    for one in reversed(source.private):
        rest = rest[: one.start] + rest[one.end :]
    used = names_in(rest)
    for one in reversed(source.private):
        if one.name not in used and _kind(source.text_of(one)) in known:
            start, end = _whole_lines(text, one)
            text = text[:start] + text[end:]
    return text


def _with_helper(text: str, giver: CppSource, helper: str) -> str:
    """Bring a private namespace, unless the file has it, to where the donor has it."""
    source = CppSource.parse(text)
    (block,) = CppSource.parse(helper).private
    kind = _kind(helper[: block.end])
    if any(_kind(source.text_of(one)) == kind for one in source.private):
        return text
    home = next(one for one in giver.private if _kind(giver.text_of(one)) == kind)
    at = _place(source, giver, home.start)
    return source.replaced(at, at, f"{helper}\n\n")


def _has_private_of_its_own(source: CppSource, giver: CppSource) -> bool:
    """Tell whether the learner has helpers in a namespace that is called like ours."""
    ours = {_kind(giver.text_of(one)) for one in giver.private}
    return any(
        one.name == PRIVATE and _kind(source.text_of(one)) not in ours
        for one in source.private
    )


def _kind(text: str) -> str:
    """Write down what a private namespace does, whatever it is called."""
    return meaning(text).replace(BROUGHT, PRIVATE)


def _lines_of(source: CppSource, block: Block) -> str:
    """Return a block with what stands behind it on its last line."""
    behind = source.text[block.end :].partition("\n")[0]
    return source.text_of(block) + behind.rstrip()


def _place(source: CppSource, giver: CppSource, start: int) -> int:
    """Return where to put what the donor has at `start`.

    It is above the next function of the donor that the file has, which may need it, or
    else at the end of the namespace.
    """
    later = (one.name for one in giver.functions if one.start > start)
    known = (one.start for name in later for one in source.named(name)[:1])
    closing = source.text.rfind("\n}") + 1 or len(source.text)
    return next(known, closing)


def _with_includes(text: str, lines: Collection[str]) -> str:
    """Add the includes that a file does not have, behind those of its kind."""
    for line in lines:
        present = list(directives(text))
        if line in {one.text for one in present}:
            continue
        own = list(includes(text))
        alike = [one for one in own if one.text[:10] == line[:10]]
        above = (alike or own or present)[-1:]
        newline = CppSource(text, (), ()).newline
        at = above[0].end if above else 0
        before = newline * (1 if alike else 2) if above else ""
        after = "" if above else newline * 2
        text = text[:at] + before + line + after + text[at:]
    return text


def _whole_lines(text: str, block: Block) -> tuple[int, int]:
    """Return where the lines of a block begin, and where the next ones do."""
    start = text.rfind("\n", 0, block.start) + 1
    behind = re.compile(r"[^\n]*\n?(?:[ \t\r]*\n)?").match(text, block.end)
    return start, behind.end() if behind else block.end
