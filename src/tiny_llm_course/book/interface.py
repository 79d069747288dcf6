"""The words between the chapters' own: those of the theme, and what search knows.

Sphinx and its theme have their words in English, and ask for a translation of most. It
is found in the catalogue, in the table `theme` of `book.toml`, beside their English.
"""

import functools
import re
from gettext import NullTranslations
from typing import Any, cast

from jinja2.ext import Extension
from sphinx import locale
from sphinx.application import Sphinx
from sphinx.builders.html import StandaloneHTMLBuilder
from sphinx.config import Config
from sphinx.jinja2glue import BuiltinTemplateLoader
from sphinx.search.en import SearchEnglish

from tiny_llm_course.catalogue import entry_of
from tiny_llm_course.language import ENGLISH, current

_OF_THE_THEME = "book.theme"

_WIDE = (
    r"[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f"
    r"\uff00-\uff60\uffe0-\uffe6]"
)
"""A letter of a script that is written without spaces, as Python and JavaScript say it.

Korean, whose words are parted by spaces, is found by its pairs as well.
"""


class FromTheCatalogue(NullTranslations):
    """Translations of the theme's words; where there is none, Sphinx's own."""

    def __init__(self, fallback: NullTranslations) -> None:
        super().__init__()
        self.add_fallback(fallback)
        own: dict[str, str] = entry_of(current(), _OF_THE_THEME) or {}
        english: dict[str, str] = entry_of(ENGLISH, _OF_THE_THEME)
        self._known = {english[key]: text for key, text in own.items()}

    def gettext(self, message: str) -> str:
        """Translate one message.

        Args:
            message: In English.
        """
        return self._known.get(message) or super().gettext(message)


class Search(SearchEnglish):
    """Search in all languages: words, and pairs of neighbours where there are none.

    A text without spaces is indexed by its letters and their pairs. What a reader types
    is cut into pairs, all of which a page has to have.
    """

    js_splitter_code = rf"""
function splitQuery(query) {{
  const runs = query.match(/{_WIDE}+|(?:(?!{_WIDE})[\p{{Letter}}\p{{Number}}_])+/gu);
  return (runs ?? []).flatMap((run) => {{
    if (run.length === 1 || !/{_WIDE}/u.test(run)) return [run];
    return Array.from({{ length: run.length - 1 }}, (_, i) => run.slice(i, i + 2));
  }});
}}
"""

    _runs = re.compile(rf"({_WIDE}+)|(?:(?!{_WIDE})\w)+")

    stem = functools.cache(SearchEnglish.stem)
    """Finds what the forms of a word share, once for all pages."""

    def split(self, input: str) -> list[str]:  # noqa: A002 - the name is Sphinx's
        """Cut a text into what the index has.

        Args:
            input: A piece of a page.
        """
        found: list[str] = []
        for run in self._runs.finditer(input):
            if run[1]:
                found += [*run[1], *map("".join, zip(run[1], run[1][1:], strict=False))]
            else:
                found.append(run[0])
        return found


class Labels(Extension):
    """Has the templates of the theme ask for a translation of all labels."""

    _label = re.compile(r'(aria-label="|<title>)([A-Z][\w /,]+)(?="|</title>)')

    def preprocess(
        self, source: str, name: str | None, filename: str | None = None
    ) -> str:
        """Change a template before it is read.

        Args:
            source: Its text.
            name: Unused.
            filename: Unused.
        """
        del name, filename
        return self._label.sub(r'\1{{ _("\2") }}', source)


def _translate(app: Sphinx, config: Config) -> None:
    """Have the theme take its words from the catalogue."""
    del config
    app.translator = FromTheCatalogue(app.translator)
    locale.translators["general", "sphinx"] = app.translator


def _find_labels(app: Sphinx) -> None:
    """Have the labels in the theme's templates translated, too."""
    if isinstance(app.builder, StandaloneHTMLBuilder):
        templates = cast("BuiltinTemplateLoader", app.builder.templates)
        templates.environment.add_extension(Labels)


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the translations and the search."""
    app.connect("config-inited", _translate)
    app.connect("builder-inited", _find_labels)
    app.add_search_language(Search)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
