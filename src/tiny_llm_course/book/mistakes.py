"""The known mistakes of a chapter: folded, one entry each, opened by a report's link.

    ::::{mistakes}                        some of one kind: what they have in common
    **The maximum.** It is ...

    :::{mistake} maximum-not-subtracted The scores go into `exp` as they are
    :try: softmax(mx.array([1000.0, 999.0]), axis=-1)
    What one sees, why it happens, and what to look at.
    :::
    ::::

What `try` calls is run with our solution and with the mistake, and both results are
shown: an example that does not show the mistake fails the build.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective
from sphinx_design.dropdown import DropdownDirective

from tiny_llm_course.book.examples import ExampleError, example
from tiny_llm_course.book.markdown import blocks
from tiny_llm_course.specimens import misconceptions
from tiny_llm_course.syllabus import Task

_LEAD = re.compile(
    r"\*\*(.+?)[.,]?\*\*(\uff08[^\uff09]*\uff09)?(\uff1f)?[\u3002\uff0c\uff1a]?\s*"
)
"""A title in bold. In Chinese, what closes it stands behind: stops, and a gloss."""

_FENCED = re.compile(r"^(`{3,}).*?^\1", re.MULTILINE | re.DOTALL)

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Explanation:
    """What a chapter says about one known mistake.

    Attributes:
        anchor: Its name, as a report links to it.
        title: What stands there while it is folded.
        text: The rest.
    """

    anchor: str
    title: str
    text: str

    @property
    def num_words(self) -> int:
        """How many words the text has, without its listings."""
        plain = _FENCED.sub("", self.text)
        return sum(any(map(str.isalpha, word)) for word in plain.split())


def explanations(chapter: str) -> Iterator[Explanation]:
    """Yield the explanations in the text of a chapter.

    Args:
        chapter: As its author wrote it.
    """
    for block in blocks(chapter):
        if block.kind == "{mistake}":
            anchor, _, title = block.argument.partition(" ")
            yield Explanation(anchor, title, "\n".join(block.body).strip())


class MistakesDirective(SphinxDirective):
    """Some known mistakes of one kind, folded under what they have in common.

    Its content begins with a title in bold. Anchors given as arguments are those of
    mistakes that have no entry of their own.
    """

    optional_arguments = 1
    final_argument_whitespace = True
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Make the block, with an anchor for each mistake without an entry."""
        lead = _LEAD.match(self.content[0]) if self.content else None
        if lead is None:
            _log.warning("expected **A title.** first", location=self.get_location())
            return []
        self.content[0] = self.content[0][lead.end() :]
        folded = DropdownDirective(
            "dropdown",
            ["".join(filter(None, lead.groups()))],
            {"class-container": ["mistakes"]},
            self.content,
            self.lineno,
            self.content_offset,
            self.block_text,
            self.state,
            self.state_machine,
        ).run()
        names = (self.arguments or [""])[0].split()
        return [nodes.container("", *folded, classes=["mistake-group"], ids=names)]


class MistakeDirective(DropdownDirective):
    """Explain one known mistake: what one sees, why it happens, an example."""

    required_arguments = 1
    optional_arguments = 0
    final_argument_whitespace = True
    option_spec: ClassVar = {"try": directives.unchanged_required}

    def run_with_defaults(self) -> list[nodes.Node]:
        """Make the entry, folded, with its anchor on it."""
        anchor, _, self.arguments[0] = self.arguments[0].partition(" ")
        call = self.options.pop("try", "")
        self.options["class-container"] = ["mistake"]
        (entry,) = super().run_with_defaults()
        assert isinstance(entry, nodes.container)
        _title(entry)["ids"].append(anchor)
        if call:
            entry.extend(self._example(anchor, call))
        return [entry]

    def _example(self, anchor: str, call: str) -> list[nodes.Node]:
        """Run a call as ours and with the mistake, and show both results."""
        try:
            text = example(self.env.docname, anchor, call)
        except ExampleError as error:
            _log.warning("%s: %s", anchor, error, location=self.get_location())
            return []
        return [nodes.literal_block(text, text, language="text")]


def anchors(tasks: Iterable[Task]) -> list[str]:
    """Return the anchors of the known mistakes of some tasks, each once."""
    found = [
        one.anchor.partition("#")[2]
        for task in tasks
        for one in misconceptions(task.address)
    ]
    return list(dict.fromkeys(found))


def anchors_in(chapter: nodes.document) -> list[str]:
    """Return the anchors of the mistakes that a chapter explains."""
    found: list[str] = []
    for one in chapter.findall(nodes.container):
        if "mistake-group" in one["classes"]:
            found += one["ids"]
        if "mistake" in (one.attributes.get("container_classes") or ()):
            found += _title(one)["ids"]
    return found


def _title(entry: nodes.container) -> nodes.rubric:
    """Return the title of an entry, which carries its anchor."""
    first = entry.children[0]
    assert isinstance(first, nodes.rubric)
    return first
