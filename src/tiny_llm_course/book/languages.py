"""The languages of the book: one folder of chapters each, built into one each.

A page links to its twins. As soon as a second language is there, a chapter without its
twin fails the build.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging

from tiny_llm_course.places import BOOK

NAMES = {"en": "English", "zh": "中文"}

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
    """Return the languages that have chapters."""
    return [code for code in NAMES if (book / code / "index.md").exists()]


def twins(page: str, own: str, found: list[str]) -> Iterator[Twin]:
    """Yield a page in all languages.

    Args:
        page: Its name, such as "source/tests/test_week_1_day_4".
        own: The language that it is shown in.
        found: All languages of the book.
    """
    up = "../" * (page.count("/") + 1)
    for code in found:
        yield Twin(code, NAMES[code], f"{up}{code}/{page}.html", code == own)


def _add_twins(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: object
) -> None:
    """Hand the links to the template."""
    del template, doctree
    book = Path(app.confdir)
    context["languages"] = list(twins(page, Path(app.srcdir).name, languages(book)))


def _check_twins(app: Sphinx, env: BuildEnvironment) -> None:
    """Say which chapters are missing in another language."""
    for code in languages(Path(app.confdir)):
        for chapter in sorted(env.found_docs):
            if not (Path(app.confdir) / code / f"{chapter}.md").exists():
                _log.warning("expected a chapter in %s", NAMES[code], location=chapter)


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the links and the check."""
    app.connect("html-page-context", _add_twins)
    app.connect("env-check-consistency", _check_twins)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
