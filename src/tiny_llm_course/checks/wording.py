"""Words in a chapter's blocks of code, which a translation puts into its language.

They are the comments at the end of a command or of an example, and the prose of a block
of `text`: pseudocode, or a few lines that are laid out. The code in it stays: numbers,
operators, and the names of a listing. A name is what

- has one letter, an underscore, an index or arguments: `q`, `new_top`, `x[t, i]`;
- stands alone before a `=` somewhere in the block: `total = 0`.

The index of a name belongs to it. The arguments may be words: `max(top, all scores)`.
"""

import itertools
import re
from collections.abc import Iterator

from tiny_llm_course.book.markdown import Block

OBJECT = "\ufffc"
"""Stands in a sentence for what is no text: code, a formula, a link."""

_LAID_OUT = "text"
WORDED = {_LAID_OUT, "sh", "pycon"}
"""Blocks with words. Those of the others come from the code that they show."""

_NAME = r"<<[^<>]+>>|[A-Za-z]\w*(?:\[[^\[\]]*\])+|[A-Za-z]\w*(?=\()|[A-Za-z]*_\w+"
_LETTER = r"(?<!\w)(?!a [a-z]{2})[A-Za-z](?!\w)"
_NAMED = re.compile(rf"{_NAME}|{_LETTER}|\d+(?:\.\d+)*", re.ASCII)
_SIGN = re.compile(r"\.{2,}|[-+*/=^()]")
_ASSIGNED = re.compile(r"(?:^ *|  )([A-Za-z]\w+)(?:\[[^\[\]]*\])* *[-+*/]?=", re.ASCII)
_WORD = re.compile(r"[A-Za-z][\w'-]+", re.ASCII)
_COMMENT = re.compile(r"(?<=\S) {2,}# (.*)$")


def code(block: Block) -> list[str]:
    """Return the code of each line: of `text` its indentation, and names in no order.

    Args:
        block: One of those with words.
    """
    if block.kind != _LAID_OUT:
        return [_COMMENT.sub("", line) for line in block.body]
    assigned = _assigned(block)
    return [
        f"{line[: len(line) - len(line.lstrip())]}{' '.join(_code(line, assigned))}"
        for line in block.body
    ]


def _code(line: str, assigned: set[str]) -> list[str]:
    """Return the names and signs of a line of pseudocode, in the order of the alphabet.

    Args:
        line: The line.
        assigned: Words that are names.
    """
    plain = _NAMED.sub(" ", line)
    words = (one for one in _WORD.findall(plain) if one in assigned)
    named = (one[0] for one in _NAMED.finditer(line))
    return sorted([*named, *words, *_SIGN.findall(plain)])


def _assigned(block: Block) -> set[str]:
    """Return the words that get a value in pseudocode."""
    return {one for line in block.body for one in _ASSIGNED.findall(line)}


def words(block: Block) -> list[str]:
    """Return what each line says, with a mark in the place of names.

    Args:
        block: One of those with words.
    """
    if block.kind != _LAID_OUT:
        found = map(_COMMENT.search, block.body)
        return [one[1] if one else "" for one in found]
    assigned = _assigned(block)
    return [
        _WORD.sub(
            lambda one: OBJECT if one[0] in assigned else one[0],
            _NAMED.sub(OBJECT, line.strip()),
        )
        for line in block.body
    ]


def untranslated(english: Block, own: Block) -> Iterator[str]:
    """Yield two words in a row that a block has from its twin.

    A single one may be a name: `cache` is the same in all languages.
    """
    theirs = set(_pairs(english))
    yield from (" ".join(one) for one in _pairs(own) if one in theirs)


def _pairs(block: Block) -> Iterator[tuple[str, str]]:
    """Yield the words that stand side by side in a line."""
    for line in words(block):
        for run in re.findall(rf"{_WORD.pattern}(?: {_WORD.pattern})+", line):
            yield from itertools.pairwise(run.split())
