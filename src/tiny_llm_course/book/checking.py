"""The checks of the book: `pdm run book --check`."""

import os
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tiny_llm_course.book import building, prose, transcripts, typed_commands
from tiny_llm_course.book.languages import chapters_by_language
from tiny_llm_course.catalogue import say
from tiny_llm_course.errors import CourseError
from tiny_llm_course.language import ENGLISH, speaking


def complaints(only: str | None = None) -> list[str]:
    """Return what is wrong with the book, after building it from scratch.

    Args:
        only: Check this page alone, without building the book.

    Raises:
        CourseError: There is no such page.
    """
    pages = chapters_by_language()
    pages[ENGLISH] += typed_commands.PAGES
    if only:
        pages = {
            language: [page for page in own if page.stem == only]
            for language, own in pages.items()
        }
        if not any(pages.values()):
            raise CourseError(say("book.commands.nothing_to_check", page=only))
    found = [] if only else building.complaints()
    for language, own in pages.items():
        found += _untrue(language, own)
    return found


def texts_are_right() -> int:
    """Print what is wrong with words and typed commands; return the exit code."""
    pages = chapters_by_language()
    pages[ENGLISH] += typed_commands.PAGES
    return _print(
        [one for own in pages.values() for page in own for one in _text(page)]
    )


def shown_is_true() -> int:
    """Print what some pages show otherwise than it is; return the exit code.

    The command line has the language, and then the names of the pages.
    """
    language, *names = sys.argv[1:]
    with speaking(language):
        return _print(
            [
                one
                for page in chapters_by_language()[language]
                if page.stem in names
                for one in transcripts.verify(page)
            ]
        )


def _print(found: Sequence[str]) -> int:
    print("\n".join(found) or "nothing is wrong")
    return int(bool(found))


def _untrue(language: str, pages: Sequence[Path]) -> list[str]:
    """Return what is wrong with the pages of a language, run in that language."""
    # Each transcript only waits for its own processes, so threads suffice.
    with speaking(language), ThreadPoolExecutor(os.cpu_count()) as threads:
        return [one for page in threads.map(_untrue_on, pages) for one in page]


def _untrue_on(page: Path) -> list[str]:
    """Return what is wrong with a page."""
    shown = [] if page in typed_commands.PAGES else transcripts.verify(page)
    return [*_text(page), *shown]


def _text(page: Path) -> Iterator[str]:
    """Yield what is wrong with the commands and sentences on a page."""
    yield from typed_commands.verify(page)
    if page not in typed_commands.PAGES:
        yield from prose.verify(page)


def updated() -> list[str]:
    """Bring the transcripts up to date, and say which chapters have changed."""
    changed: list[Path] = []
    for language, own in chapters_by_language().items():
        with speaking(language):
            changed += filter(transcripts.update, own)
    return [say("book.commands.updated", chapter=one.name) for one in changed]
