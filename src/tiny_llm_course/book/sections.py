"""The sections of a chapter, by anchors that are the same in all languages.

An anchor is made of the English heading, with a number from the second of that name on.
A translation says in a comment which section its own heading stands for:

    % section where-people-slip-2
    ## Wo man sich vertut
"""

import itertools
import re
from collections.abc import Container
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

_HEADING = re.compile(r"^#{1,6} +(.+)$")
_NAMED = re.compile(r"^% section (\S+)$")
_FENCE = re.compile(r"^`{3,}")
_FIRST = 100
"""Before MyST resolves links to anchors."""


def sections(chapter: str) -> dict[str, str]:
    """Return what stands under each heading, the heading first, without subsections.

    Args:
        chapter: As its author wrote it.
    """
    found: dict[str, list[str]] = {}
    own: list[str] = []
    named = fence = ""
    for line in chapter.splitlines():
        if note := _NAMED.match(line):
            named = note[1]
            continue
        if not fence and (heading := _HEADING.match(line)):
            anchor = named or _free(nodes.make_id(heading[1]), found)
            own = found[anchor] = []
            named = ""
        fence = _open_after(line, fence)
        own.append(line)
    return {anchor: "\n".join(lines).strip() for anchor, lines in found.items()}


def _free(name: str, taken: Container[str]) -> str:
    """Return an anchor that no section has yet."""
    names = itertools.chain([name], (f"{name}-{i}" for i in itertools.count(2)))
    return next(one for one in names if one not in taken)


def _open_after(line: str, fence: str) -> str:
    """Return the fence around the lines after this one, if any."""
    if fence:
        return "" if line.rstrip() == fence else fence
    opening = _FENCE.match(line)
    return opening[0] if opening else ""


class Anchors(SphinxTransform):
    """Gives each section its anchor, by which links in other chapters find it."""

    default_priority = _FIRST

    def apply(self, **_: object) -> None:
        """Change the chapter, before links are resolved and its contents listed."""
        source = self.env.doc2path(self.env.current_document.docname)
        anchors = sections(source.read_text(encoding="utf-8"))
        slugs: dict[str, tuple[int, str, str]] = self.document.myst_slugs  # pyright: ignore[reportAttributeAccessIssue]
        for section, anchor in zip(
            self.document.findall(nodes.section), anchors, strict=True
        ):
            others = [one for one in section["ids"] if one != anchor]
            section["ids"] = [anchor, *others]
            self.document.ids[anchor] = section
            slugs[anchor] = (section.line or 0, anchor, section[0].astext())


def setup(app: Sphinx) -> dict[str, Any]:
    """Run after each chapter is read."""
    app.add_transform(Anchors)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
