"""Tables in a chapter whose rows are computed.

    {tabulated} NAME      what `tables()` of the chapter's data gives: rows of cells

`:columns:` is the header, its cells separated by bars, so that the chapter holds its
words. The content is the caption, below what a translation says instead of the words
that labs have written into cells: see `texts`.
"""

from collections.abc import Sequence
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util import logging

from tiny_llm_course.book.chapter_data import path_of, values_of
from tiny_llm_course.book.texts import DirectiveWithTexts

_log = logging.getLogger(__name__)


class TabulatedDirective(DirectiveWithTexts):
    """Show rows from the chapter's data under the chapter's own column names."""

    required_arguments = 1
    option_spec: ClassVar = {"columns": directives.unchanged_required}

    def run(self) -> list[nodes.Node]:
        """Write the table in Markdown, and have it parsed."""
        (name,) = self.arguments
        chapter = self.env.docname
        columns = [part.strip() for part in self.options.get("columns", "").split("|")]
        rows = values_of(chapter, "tables").get(name)
        here = path_of(chapter).name
        lacks = lacking(rows, columns) if rows else f"a table in {here}"
        if lacks or rows is None:
            _log.warning("%s: expected %s", name, lacks, location=self.get_location())
            return []
        text = self.take_texts(name)
        cells = [[text.instead_of(str(cell)) for cell in row] for row in rows]
        self.report(text, name)
        lines = [columns, ["---"] * len(columns), *cells]
        markdown = "\n".join("| " + " | ".join(line) + " |" for line in lines)
        table = self.parse_text_to_nodes(markdown)
        caption = self.parse_content_to_nodes()
        return [
            nodes.container("", *table, *caption, classes=["tabulated"], ids=[name])
        ]


def lacking(rows: Sequence[Sequence[object]], columns: Sequence[str]) -> str | None:
    """Return what rows should have, to be a table under some columns. None: nothing."""
    if any(len(row) != len(columns) for row in rows):
        return f"as many :columns: as cells, {len(rows[0])}"
    if any("\n" in str(cell) for row in rows for cell in row):
        return "cells of one line"
    return None


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the directive."""
    app.add_directive("tabulated", TabulatedDirective)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
