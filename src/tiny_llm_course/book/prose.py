"""What can be checked about the sentences of a chapter: their spelling, their numbers.

The spelling is checked in English, numbers in all languages.

A decimal, a percentage, and a number of seconds, of bytes in thousands or more, or of
tokens or operations a second in a sentence or formula come from the chapter's data. One
that a source gives is named in a comment of the chapter, with the source:

    % cited 0.044715: Hendrycks and Gimpel 2016, section 2
"""

import functools
import re
import warnings
from collections.abc import Iterator
from pathlib import Path

from spylls.hunspell import Dictionary  # pyright: ignore[reportMissingTypeStubs]

from tiny_llm_course.book.markdown import blocks
from tiny_llm_course.language import ENGLISH
from tiny_llm_course.places import BOOK

SPELLING = BOOK / "spelling"

_HOLD_PROSE = {
    *("{mistakes}", "{mistake}", "{question}", "{drawing}"),
    *("{interactive}", "{glossary}"),
    *("{note}", "{tip}", "{warning}", "{admonition}", "{dropdown}"),
}

_CITED = re.compile(r"^% cited (\S+): \S.*$", re.MULTILINE)
_COMMENT = re.compile(r"^%.*$", re.MULTILINE)
_FENCE = re.compile(r"^(?:`{3,}|:{3,}).*$", re.MULTILINE)
_KEY = re.compile(r"^[\w-]+:(?=\s)", re.MULTILINE)
_OPTION = re.compile(r"^:(?!alt:)[\w-]+:.*$", re.MULTILINE)
FORMULA = re.compile(
    r"\$\$.*?\$\$(?:\s*\([\w-]+\))?|\$[^$\n]+?(?:\n[^$\n]+?)?\$", re.DOTALL
)
_NOT_PROSE = re.compile(
    r"<<[^<>\n]+>>|(?:\{[\w-]+\})?(`+)(?:(?!\1).)+?\1|\]\([^)]*\)|https?://\S+"
    r"|arXiv:\S+|^\([\w-]+\)=$|<[^>\n]+>|\\n",
    re.MULTILINE | re.DOTALL,
)
_NAME_WITH_A_NUMBER = re.compile(
    r"(?<![A-Za-z])(?:sections?|equations?|chapters?|tables?|figures?|appendix|Python"
    r"|version|glibc|CUDA|Ubuntu|Debian|macOS|MLX)"
    r"[\s-]*\d[\d.]*(?:(?:,| and| to)\s+\d[\d.]*)*"
    r"|(?<![A-Za-z])Qwen\d[\d.]*|(?<![A-Za-z\d.])\d+(?:\.\d+)?B(?![A-Za-z\d])"
    r"|\u7b2c?[\d.]+[\u8282\u7ae0\u8868\u56fe]",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"(?<![\w.])\d+\.\d+|(?<![\w.])\d+(?=\s?\\?%)")
_MEASURED = re.compile(
    r"(?<![\w.,])(\d[\d,]*)\s(?:[kKMG]i?B(?:/s)?|[mnuµ]?s|G?FLOPS?(?:/s)?|tokens?/s)(?![A-Za-z\d])"
)
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*")


NOT_YET = {
    "week-2-day-3-quantised-weights": 3,
}
"""How many numbers with a unit a chapter may still type. These only fall."""


def verify(chapter: Path) -> Iterator[str]:
    """Yield what is wrong with the sentences of a chapter, with file and line."""
    text = chapter.read_text(encoding="utf-8")
    typed = list(typed_in(text))
    if len(typed) <= NOT_YET.get(chapter.stem, 0):
        typed = []
    misspelt_words = misspelt(text) if chapter.parent.name == ENGLISH else ()
    for line, complaint in [*misspelt_words, *typed]:
        yield f"{chapter.name}:{line}: {complaint}"


def misspelt(text: str) -> Iterator[tuple[int, str]]:
    """Yield line and word of everything that is in no word list."""
    for number, line in enumerate(_blank(FORMULA, prose(text)).splitlines(), 1):
        for word in _WORD.findall(line):
            plain = word.removesuffix("'s")
            if len(plain) > 1 and not _known(plain):
                yield number, f"{word}: is it spelt so? Then add it to words.txt"


def typed_in(text: str) -> Iterator[tuple[int, str]]:
    """Yield the line of every number of these kinds that is typed in by hand."""
    cited = set(_CITED.findall(text))
    plain = _blank(_NAME_WITH_A_NUMBER, prose(text))
    for number, line in enumerate(plain.splitlines(), 1):
        for found in [*_NUMBER.findall(line), *_MEASURED.findall(line)]:
            if found not in cited:
                yield (
                    number,
                    f"{found}: expected <<name>> from the chapter's data, or % cited",
                )


def prose(text: str, instead: str = " ") -> str:
    """Blank out code, links and comments, keeping line numbers unchanged.

    Args:
        text: Of a chapter.
        instead: What stands for code or a link in a sentence.
    """
    return _blank(_NOT_PROSE, marked_up(text), instead)


def marked_up(text: str) -> str:
    """Blank out blocks of code, options and comments, keeping line numbers unchanged.

    Pieces of code, roles, formulas and links in a sentence stay.
    """
    lines = text.split("\n")
    for block in blocks(text):
        if block.kind not in _HOLD_PROSE:
            start = block.line - 1
            lines[start : start + len(block.body)] = [""] * len(block.body)
    text = "\n".join(lines)
    for pattern in (_COMMENT, _FENCE, _KEY, _OPTION):
        text = _blank(pattern, text)
    return text


def _blank(pattern: re.Pattern[str], text: str, instead: str = " ") -> str:
    """Replace a match by the line breaks in it."""
    return pattern.sub(lambda found: instead + "\n" * found[0].count("\n"), text)


@functools.cache
def _known(word: str) -> bool:
    """Tell whether a word is in the dictionary or in the list of the course."""
    return word in _own_words() or _dictionary().lookup(word)


@functools.cache
def _dictionary() -> Dictionary:
    with warnings.catch_warnings():
        # The library leaves closing its files to the garbage collector.
        warnings.simplefilter("ignore", ResourceWarning)
        return Dictionary.from_files(str(SPELLING / "en_GB"))


@functools.cache
def _own_words() -> frozenset[str]:
    """Read the words of the field and the names, one a line."""
    text = (SPELLING / "words.txt").read_text(encoding="utf-8")
    return frozenset(text.split())
