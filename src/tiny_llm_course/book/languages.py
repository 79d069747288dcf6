"""The languages of the book: one folder of chapters each, built into one each.

A language of the course has a book as soon as it has the first page, `index.md`. Then a
page links to its twins, and a chapter without one fails the build.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging

from tiny_llm_course import language
from tiny_llm_course.book.markdown import blocks, chapters
from tiny_llm_course.catalogue import entry_of, say
from tiny_llm_course.places import BOOK

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Twin:
    """A page in one of the languages.

    Attributes:
        code: The language, as in HTML.
        name: The language, in that language.
        link: Where the page is, seen from the page that shows the link.
        current: Whether this is the page itself.
    """

    code: str
    name: str
    link: str
    current: bool


def languages(book: Path = BOOK) -> list[str]:
    """Return the languages that have chapters, English first."""
    return [one for one in language.languages() if (book / one / "index.md").exists()]


def of_reader() -> str:
    """Return the language to open the book in."""
    spoken = language.current()
    return spoken if spoken in languages() else language.ENGLISH


def chapters_by_language() -> dict[str, list[Path]]:
    """Return all chapters of the book."""
    return {one: chapters(BOOK / one) for one in languages()}


def name_of(code: str) -> str:
    """Return the name of a language, in that language."""
    return str(entry_of(code, "book.language.name") or code)


def twins(page: str, own: str, found: Sequence[str]) -> Iterator[Twin]:
    """Yield a page in all languages.

    Args:
        page: Its name, such as "source/tests/test_week_1_day_4".
        own: The language that it is shown in.
        found: All languages of the book.
    """
    up = "../" * (page.count("/") + 1)
    for code in found:
        yield Twin(code, name_of(code), f"{up}{code}/{page}.html", code == own)


def _complete(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: object
) -> None:
    """Hand the links to the template, and what its texts come from."""
    del template, doctree
    book = Path(app.confdir)
    context["languages"] = list(twins(page, Path(app.srcdir).name, languages(book)))
    context["say"] = say
    if len(context["languages"]) > 1:
        app.add_js_file("switching.js", loading_method="defer")


def _check_twins(app: Sphinx, env: BuildEnvironment) -> None:
    """Say which chapters are missing in another language."""
    book = Path(app.confdir)
    for code in languages(book):
        name = name_of(code)
        for chapter in sorted(env.found_docs):
            if not (book / code / f"{chapter}.md").exists():
                _log.warning("expected a chapter in %s", name, location=chapter)


def _check_texts(app: Sphinx, env: BuildEnvironment) -> None:
    """Say which texts of figures a translation lacks, or has without use."""
    own_folder, english_folder = Path(app.srcdir), Path(app.confdir, language.ENGLISH)
    if own_folder.name == english_folder.name:
        return
    for chapter in sorted(env.found_docs):
        own = texts_of_figures(own_folder / f"{chapter}.md")
        english = texts_of_figures(english_folder / f"{chapter}.md")
        for figure, text in sorted(english - own):
            _log.warning("%s: expected a text %s", figure, text, location=chapter)
        for figure, text in sorted(own - english):
            _log.warning("%s: English has no %s", figure, text, location=chapter)


def texts_of_figures(chapter: Path) -> set[tuple[str, str]]:
    """Return the names of interactive figures and of their texts, those of a chapter.

    What such a figure asks for is known in a browser only: English has been tried.
    """
    if not chapter.exists():
        return set()
    return {
        (block.argument, name)
        for block in blocks(chapter.read_text(encoding="utf-8"))
        if block.kind == "{interactive}"
        for name in yaml.safe_load("\n".join(block.body)) or {}
    }


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the links and the checks."""
    app.connect("html-page-context", _complete)
    app.connect("env-check-consistency", _check_twins)
    app.connect("env-check-consistency", _check_texts)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
