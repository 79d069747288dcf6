"""All that has to hold for the book: `pdm run book --check`."""

import os
import shutil
from concurrent.futures import ThreadPoolExecutor

from tiny_llm_course.book import building, prose, transcripts, typed
from tiny_llm_course.book.markdown import chapters
from tiny_llm_course.catalogue import say


def complaints() -> list[str]:
    """Build the book from nothing, and return what is wrong with it."""
    shutil.rmtree(building.BUILT, ignore_errors=True)
    found: list[str] = []
    built = building.build(fresh=True)
    if built.returncode:
        found.append(built.stdout)
    for chapter in chapters():
        found += prose.verify(chapter)
    for page in (*chapters(), *typed.PAGES):
        found += typed.verify(page)
    # Each transcript waits for processes of its own, so threads are all it takes.
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        for untrue in threads.map(list, map(transcripts.verify, chapters())):
            found += untrue
    return found


def updated() -> list[str]:
    """Bring the transcripts up to date, and say which chapters have changed."""
    return [
        say("book.commands.updated", chapter=chapter.name)
        for chapter in chapters()
        if transcripts.update(chapter)
    ]
