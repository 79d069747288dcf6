"""The words of figures and tables, which stand in the chapter that shows them.

They are YAML above a line, and below it is the caption:

    ```{drawing} buffer
    :alt: Twelve places, of which five are taken.
    old: never touched
    at: place {number}
    ---
    A buffer with room to spare.
    ```

Without that line, all of it is the caption. What a lab has written is in English; a
translated chapter says it in its own language, with `{}` for numbers:

    at least {}: mindestens {}
"""

import re
from collections.abc import Iterator, Mapping

import yaml
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from tiny_llm_course.language import ENGLISH, current

_RULE = "---"
_NUMBER = re.compile(r"(?<![\w.])-?\d(?:[\d.,]*\d)?(?:e-?\d+)?(?![\w.]*\w)")
_CODE = re.compile(r"`[^`]*`|^\$[^$]*\$$")
_WORD = re.compile(r"(?<![\w./])[A-Za-z]?[a-z]+(?![\w./])")

_log = logging.getLogger(__name__)


class Texts:
    """Words by name: `text["query"]`, `text["at"].format(place=3)`.

    Args:
        texts: What the chapter has.
    """

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = texts
        self._used: set[str] = set()

    def __getitem__(self, name: str) -> str:
        """Return a text; its name where the chapter has none, which `complaints` says.

        Args:
            name: As in the chapter.
        """
        self._used.add(name)
        return self._texts.get(name, name)

    def instead_of(self, said: str) -> str:
        """Return what to show for what a lab has written, in the language of now.

        Args:
            said: In English. Names with other signs in them are the same everywhere.
        """
        if current() == ENGLISH or not _WORD.search(_CODE.sub("", said)):
            return said
        return self[_NUMBER.sub("{}", said)].format(*_NUMBER.findall(said))

    def complaints(self) -> Iterator[str]:
        """Yield what was asked for in vain, and what nobody has asked for."""
        for name in sorted(self._used - self._texts.keys()):
            yield f"expected a text {name}"
        for name in sorted(self._texts.keys() - self._used):
            yield f"the text {name} is not shown"
        for name in sorted(one for one, text in self._texts.items() if "$" in text):
            yield f"expected no formula in the text {name}: it may lack letters"


class DirectiveWithTexts(SphinxDirective):
    """A directive whose content begins with texts."""

    has_content = True

    def take_texts(self, name: str) -> Texts:
        """Take the texts off the content, and leave the caption there.

        Args:
            name: What is shown, for the warning about YAML that cannot be read.
        """
        if _RULE not in self.content:
            return Texts({})
        num_lines = self.content.index(_RULE)
        above = "\n".join(self.content[:num_lines])
        self.content = self.content[num_lines + 1 :]
        self.content_offset += num_lines + 1
        try:
            # What looks like a number or a truth value is a text as well.
            texts = yaml.load(above, yaml.BaseLoader)  # noqa: S506 - only texts
        except yaml.YAMLError as error:
            _log.warning("%s: %s", name, error, location=self.get_location())
            texts = None
        return Texts(texts or {})

    def report(self, text: Texts, name: str) -> None:
        """Warn about texts that are missing or not shown.

        Args:
            text: After all that is shown has been asked for.
            name: What shows them.
        """
        for complaint in text.complaints():
            _log.warning("%s: %s", name, complaint, location=self.get_location())
