"""What a translation lacks, and which of its parts are older than their English.

A unit is a section of a chapter, a sentence of the catalogue, or a docstring or comment
of a stub. A list beside the translation, `made_from.txt`, has a digest of the English
that each unit was made from. `pdm run check` fails where a unit is missing, and lists
those that are out of date. For a translator:

    pdm run python -m tiny_llm_course.checks.translations
    pdm run python -m tiny_llm_course.checks.translations zh --done UNIT UNIT
"""

import argparse
import hashlib
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tiny_llm_course.book.languages import languages as written_languages
from tiny_llm_course.book.markdown import chapters
from tiny_llm_course.book.sections import sections
from tiny_llm_course.language import ENGLISH, folder_of, languages
from tiny_llm_course.places import here
from tiny_llm_course.units import units as said

MADE_FROM = "made_from.txt"
FIELD = re.compile(r"\{(\w+)[^{}]*\}")
STALE = "stale"
"""What does not fail the check."""

ALL = "all"
SHOWN = 10
"""How many units the summary names."""


@dataclass(frozen=True)
class Translation:
    """A translation of one kind of units.

    Attributes:
        folder: Where it is, with its list.
        english: What there is to translate, by key.
        own: What is translated.
    """

    folder: Path
    english: Mapping[str, str]
    own: Mapping[str, str]

    def missing(self) -> list[str]:
        """Return what is not translated."""
        return sorted(self.english.keys() - self.own.keys())

    def left_over(self) -> list[str]:
        """Return what has no English, or no longer."""
        return sorted(self.own.keys() - self.english.keys())

    def stale(self) -> list[str]:
        """Return what was made from another English, or from nobody knows which."""
        made_from = self._made_from()
        return sorted(
            key
            for key in self.english.keys() & self.own.keys()
            if made_from.get(key) != digest(self.english[key])
        )

    def unfillable(self) -> list[str]:
        """Return the sentences with a field that English does not have.

        Sections and docstrings have no fields: braces are code there.
        """
        return sorted(
            key
            for key in self.english.keys() & self.own.keys()
            if "#" not in key and not key.startswith("stubs/")
            if fields(self.own[key]) - fields(self.english[key])
        )

    def mark(self, done: Iterable[str]) -> None:
        """Write down that some units have been made from the English of now.

        Args:
            done: Their keys. Those that are not translated stay missing.
        """
        known = self._made_from() | {key: digest(self.english[key]) for key in done}
        kept = sorted(known.keys() & self.english.keys() & self.own.keys())
        lines = [f"{key} {known[key]}\n" for key in kept]
        (self.folder / MADE_FROM).write_text("".join(lines), encoding="utf-8")

    def _made_from(self) -> dict[str, str]:
        """Read the list: the digests of the English, by key."""
        path = self.folder / MADE_FROM
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        parts = (line.rpartition(" ") for line in text.splitlines())
        return {key: value for key, _, value in parts}


def fields(sentence: str) -> set[str]:
    """Return the names that are filled in."""
    return set(FIELD.findall(sentence))


def digest(text: str) -> str:
    """Return what tells a text from its other versions, spaces aside."""
    plain = " ".join(text.split())
    return hashlib.sha256(plain.encode()).hexdigest()[:12]


def sections_of(folder: Path) -> dict[str, str]:
    """Return the sections of all chapters in a folder, by page and anchor."""
    return {
        f"{chapter.stem}#{anchor}": text
        for chapter in chapters(folder)
        for anchor, text in sections(chapter.read_text(encoding="utf-8")).items()
    }


def translations(language: str) -> Iterator[Translation]:
    """Yield what a language is translated into: sentences, and a book if it has one."""
    yield Translation(folder_of(language), said(ENGLISH), said(language))
    book = here().book
    if language in written_languages(book):
        own = book / language
        yield Translation(own, sections_of(book / ENGLISH), sections_of(own))


def to_do(language: str) -> dict[str, list[str]]:
    """Return the units of a language that ask for work, by what is wrong with them."""
    own = list(translations(language))
    return {
        "missing": [key for one in own for key in one.missing()],
        "without English": [key for one in own for key in one.left_over()],
        "with another field": [key for one in own for key in one.unfillable()],
        STALE: [key for one in own for key in one.stale()],
    }


def mark_done(language: str, done: Collection[str]) -> list[str]:
    """Mark units as made from the English of now; return those that do not exist.

    Args:
        language: That of the translation.
        done: Their keys, or ALL for everything that is translated.
    """
    unknown = set(done) - {ALL}
    for one in translations(language):
        there = one.english.keys() & one.own.keys()
        one.mark(there if ALL in done else there & unknown)
        unknown -= there
    return sorted(unknown)


def main(arguments: Sequence[str] | None = None) -> int:
    """List what asks for work, or mark some of it as done; return the exit code."""
    others = [one for one in languages() if one != ENGLISH]
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("language", nargs="?", choices=others, help="all if left out")
    parser.add_argument("--done", nargs="+", metavar="UNIT", help=f"or {ALL!r}")
    given = parser.parse_args(arguments)
    asked = [given.language] if given.language else others
    unknown = [key for one in asked if given.done for key in mark_done(one, given.done)]
    found = {one: to_do(one) for one in asked}
    lines = [
        f"{language}: {what}: {key}"
        for language, units in found.items()
        for what, keys in units.items()
        for key in keys
    ]
    for line in (*(f"no such unit: {key}" for key in unknown), *lines):
        print(line)
    print(_summary(others, lines))
    wrong = [
        keys for one in found.values() for what, keys in one.items() if what != STALE
    ]
    return int(bool(unknown) or any(wrong))


def _summary(others: Sequence[str], lines: Sequence[str]) -> str:
    """Return one line: `pdm run check` shows no more of a step that has passed."""
    if not lines:
        return f"{len(others)} languages besides English, and all is up to date"
    more = f" and {len(lines) - SHOWN} more" if len(lines) > SHOWN else ""
    return f"to do: {'; '.join(lines[:SHOWN])}{more}"


if __name__ == "__main__":
    sys.exit(main())
