"""A block of `text` in a chapter: pseudocode, or a few lines that are laid out.

It is made of words, which a translation puts into its language, in its own order, and
of code, which stays: numbers, operators, and the names of a listing. A name is what

- has one letter, an underscore, an index or arguments: `q`, `new_top`, `x[t, i]`;
- stands alone before a `=` somewhere in the block: `total = 0`.

The index of a name belongs to it. The arguments may be words: `max(top, all scores)`.
"""

import itertools
import re
from collections.abc import Iterator, Sequence

OBJECT = "\ufffc"
"""Stands in a sentence for what is no text: code, a formula, a link."""

_NAME = r"<<[^<>]+>>|[A-Za-z]\w*(?:\[[^\[\]]*\])+|[A-Za-z]\w*(?=\()|[A-Za-z]*_\w+"
_LETTER = r"(?<!\w)(?!a [a-z]{2})[A-Za-z](?!\w)"
_NAMED = re.compile(rf"{_NAME}|{_LETTER}|\d+(?:\.\d+)*", re.ASCII)
_SIGN = re.compile(r"\.{2,}|[-+*/=^()]")
_ASSIGNED = re.compile(r"(?:^ *|  )([A-Za-z]\w+)(?:\[[^\[\]]*\])* *[-+*/]?=", re.ASCII)
_WORD = re.compile(r"[A-Za-z][\w'-]+", re.ASCII)


def kept(body: Sequence[str]) -> list[str]:
    """Return, for each line, its indentation and its code in no order."""
    return [
        f"{line[: len(line) - len(line.lstrip())]}{' '.join(sorted(_code(line, body)))}"
        for line in body
    ]


def _code(line: str, body: Sequence[str]) -> list[str]:
    """Return the code of a line of a block."""
    names = _assigned(body)
    plain = _NAMED.sub(" ", line)
    named = [one[0] for one in _NAMED.finditer(line)]
    return [
        *named,
        *(one for one in _WORD.findall(plain) if one in names),
        *_SIGN.findall(plain),
    ]


def _assigned(body: Sequence[str]) -> set[str]:
    """Return the words that get a value in a block."""
    return {one for line in body for one in _ASSIGNED.findall(line)}


def spoken(body: Sequence[str]) -> list[str]:
    """Return the words of each line, with a mark in the place of code."""
    names = _assigned(body)
    return [
        _WORD.sub(
            lambda one: OBJECT if one[0] in names else one[0],
            _NAMED.sub(OBJECT, line.strip()),
        )
        for line in body
    ]


def untranslated(english: Sequence[str], own: Sequence[str]) -> Iterator[str]:
    """Yield two words in a row that a block has from its twin.

    A single one may be a name: `cache` is the same in all languages.
    """
    theirs = set(_pairs(english))
    yield from (" ".join(one) for one in _pairs(own) if one in theirs)


def _pairs(body: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the words that stand side by side in a line."""
    for line in spoken(body):
        for run in re.findall(rf"{_WORD.pattern}(?: {_WORD.pattern})+", line):
            words = run.split()
            yield from itertools.pairwise(words)
