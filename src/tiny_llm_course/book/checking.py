"""The checks of the book: `pdm run book --check`."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tiny_llm_course.book import building, prose, transcripts, typed_commands
from tiny_llm_course.book.markdown import chapters
from tiny_llm_course.catalogue import say
from tiny_llm_course.errors import CourseError


def complaints(only: str | None = None) -> list[str]:
    """Return what is wrong with the book, after building it from scratch.

    Args:
        only: Check this page alone, without building the book.

    Raises:
        CourseError: There is no such page.
    """
    pages = [*chapters(), *typed_commands.PAGES]
    if only:
        pages = [page for page in pages if page.stem == only]
        if not pages:
            raise CourseError(f"expected a page, got {only!r}; see book/en")
    found = [] if only else building.complaints()
    # Each transcript only waits for its own processes, so threads suffice.
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        for untrue in threads.map(_untrue, pages):
            found += untrue
    return found


def _untrue(page: Path) -> list[str]:
    """Return what is wrong with a page."""
    found = list(typed_commands.verify(page))
    if page not in typed_commands.PAGES:
        found += [*prose.verify(page), *transcripts.verify(page)]
    return found


def updated() -> list[str]:
    """Bring the transcripts up to date, and say which chapters have changed."""
    return [
        say("book.commands.updated", chapter=chapter.name)
        for chapter in chapters()
        if transcripts.update(chapter)
    ]
