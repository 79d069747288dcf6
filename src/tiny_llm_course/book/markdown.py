"""A chapter as its author wrote it, cut into prose and fenced blocks."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tiny_llm_course.places import CHAPTERS

_FENCE = re.compile(r"^(`{3,}|:{3,})(\{\w+\}|\w+)?[ ]?(.*)$")
_OPTION = re.compile(r"^:([\w-]+):\s*(.*)$")


@dataclass(frozen=True)
class Block:
    """A fenced block: the text between two fences.

    Attributes:
        kind: What follows the fence: "python", or "{task}" for a directive.
        argument: The rest of that line.
        options: The `:name: value` lines at its top.
        body: The lines below them.
        line: The number of the first of these lines, from 1.
    """

    kind: str
    argument: str
    options: dict[str, str]
    body: tuple[str, ...]
    line: int


def chapters(folder: Path = CHAPTERS) -> list[Path]:
    """Return the chapters, in the order of their names.

    A page for authors, such as STYLE.md, has a name in capitals.
    """
    return sorted(one for one in folder.glob("*.md") if not one.stem.isupper())


def blocks(text: str) -> Iterator[Block]:
    """Yield the fenced blocks of a chapter, those within others after them."""
    lines = text.splitlines()
    number = 0
    while number < len(lines):
        opening = _FENCE.match(lines[number])
        if not opening or not opening[2]:
            number += 1
            continue
        first = number + 1
        last = _closing(lines, first, opening[1])
        block = _block(opening, lines[first:last], first)
        yield block
        # What a fence of colons holds is Markdown, with blocks of its own.
        number = first if opening[1].startswith(":") else last + 1


def _closing(lines: list[str], first: int, fence: str) -> int:
    """Return the index of the line that closes a fence."""
    for number in range(first, len(lines)):
        if lines[number].rstrip() == fence:
            return number
    return len(lines)


def _block(opening: re.Match[str], inside: list[str], first: int) -> Block:
    """Build a block from its lines."""
    options: dict[str, str] = {}
    for line in inside:
        option = _OPTION.match(line)
        if not option:
            break
        options[option[1]] = option[2]
    body = tuple(inside[len(options) :])
    number = first + len(options) + 1
    return Block(opening[2], opening[3].strip(), options, body, number)
