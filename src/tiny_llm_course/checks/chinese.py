"""How Chinese is written here: what a program can see of `book/zh/STYLE.md`."""

import functools
import re
import tomllib
from collections.abc import Iterator

from tiny_llm_course.places import BOOK

MOST_WORDS = 6
"""Words of English in a row: more are a sentence that nobody has translated."""

_HAN = r"\u3400-\u9fff"
_LATIN = r"A-Za-z0-9`\ufffc"
_FULL = r"\u3000-\u303f\uff01-\uff5e\u2018-\u201d"
_CODE = re.compile(r"(`+)(?:(?!\1).)+?\1|^ {2,}\S.*$|^\S+\(.*\).*$|pdm run .*$")
_ENGLISH = re.compile(r"[A-Za-z][\w'-]*[,;:.]?(?: [A-Za-z][\w'-]*[,;:.]?)+")
_QUOTED = re.compile(r"\u201c[^\u201d]*\u201d|(?<!\*)\*[^*]+\*(?!\*)")
"""What the model says or reads is English, and stays so."""

_FAULTS = {
    "a space at full-width punctuation": re.compile(
        rf"[{_FULL}] +[{_HAN}]|[{_HAN}] +[{_FULL}]"
    ),
    "punctuation of half width": re.compile(
        rf"[{_HAN}][,;:?!](?!\w)|[{_HAN}]\.(?=\s|$)|[{_HAN}]\(|\)[{_HAN}]"
    ),
}
_BOLD = re.compile(r"(.?)\*\*(.+?)\*\*(?=(.?))")
_OPENS, _CLOSES = (
    "\u201c\u2018\uff08\u300a",
    "\u201d\u2019\u3002\uff0c\uff1a\uff1f\uff09",
)
_SPACE = re.compile(rf"[{_HAN}] +[{_LATIN}]|[{_LATIN}] +[{_HAN}]")
_NO_SPACE = re.compile(rf"[{_HAN}][{_LATIN}]|[{_LATIN}][{_HAN}]")


@functools.cache
def unwanted() -> dict[str, str]:
    """Return the words that are never used, with those in their place."""
    path = BOOK / "zh" / "terms.toml"
    avoided = tomllib.loads(path.read_text(encoding="utf-8"))["avoid"]
    return {one: word for word, others in avoided.items() for one in others}


def complaints(line: str, in_terminal: bool) -> Iterator[str]:
    """Yield what is wrong with a line.

    Args:
        line: Of the catalogue, or of a chapter, with a mark for code and formulas.
        in_terminal: Whether a space parts Han from Latin, since no style sheet does.
    """
    for word, better in unwanted().items():
        if word in line:
            yield f"{word}: we say {better}"
    for what, pattern in _FAULTS.items():
        for found in pattern.finditer(line):
            yield f"{what}: {_around(line, found)}"
    for before, bold, after in _BOLD.findall(line):
        if (bold[0] in _OPENS and _is_letter(before)) or (
            bold[-1] in _CLOSES and _is_letter(after)
        ):
            yield f"bold around punctuation: {bold}"
    spaced = _NO_SPACE if in_terminal else _SPACE
    for found in spaced.finditer(line):
        wanted = "a space belongs here" if in_terminal else "no space belongs here"
        yield f"{wanted}: {_around(line, found)}"
    plain = _QUOTED.sub("", _CODE.sub("", line))
    for found in _ENGLISH.finditer(plain):
        words = [one for one in found[0].split() if len(one) > 1]
        if len(words) > MOST_WORDS:
            yield f"English: {found[0]}"


def _is_letter(one: str) -> bool:
    """Tell whether Markdown sees no border between this and punctuation."""
    return re.match(rf"[{_HAN}A-Za-z0-9]", one) is not None


def _around(line: str, found: re.Match[str]) -> str:
    """Return what a pattern has found, with some neighbours."""
    return line[max(0, found.start() - 8) : found.end() + 8]
