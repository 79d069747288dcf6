"""Figures in a chapter: drawings, and figures that react to the reader.

    {drawing} NAME        what `drawings()` of the chapter's data gives
    {interactive} NAME    `book/static/interactive/NAME.js`, with what `data()` gives it

Both need an `:alt:`. The content of the second is YAML: the texts that the figure
shows, so that a translation finds them in the chapter. That of the first is such texts
and a caption, as `texts` says.
"""

import html
import json
from typing import Any, ClassVar

import yaml
from docutils import nodes
from docutils.parsers.rst import directives
from matplotlib.figure import Figure
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from tiny_llm_course.book.chapter_data import path_of, values_of
from tiny_llm_course.book.drawing import Drawing, style, to_svg
from tiny_llm_course.book.texts import DirectiveWithTexts
from tiny_llm_course.catalogue import say
from tiny_llm_course.places import BOOK

INTERACTIVE = BOOK / "static" / "interactive"

_log = logging.getLogger(__name__)


class DrawingDirective(DirectiveWithTexts):
    """Show a figure from the chapter's data."""

    required_arguments = 1
    option_spec: ClassVar = {"alt": directives.unchanged_required}

    def run(self) -> list[nodes.Node]:
        """Put the SVG into the page, with its caption."""
        (name,) = self.arguments
        chapter, alt = self.env.docname, self.options.get("alt", "")
        draw: Drawing | None = values_of(chapter, "drawings").get(name)
        if not alt or not draw:
            lacks = "an :alt:" if draw else f"a figure in {path_of(chapter).name}"
            _log.warning("%s: expected %s", name, lacks, location=self.get_location())
            return []
        drawn = to_svg(self._drawn(draw, name), f"{chapter}-{name}", alt)
        svg = nodes.raw("", drawn, format="html")
        figure = nodes.figure("", svg, classes=["drawing"], ids=[f"figure-{name}"])
        figure += _caption(self)
        return [figure]

    def _drawn(self, draw: Drawing, name: str) -> Figure:
        """Draw with the texts of the chapter."""
        text = self.take_texts(name)
        with style():
            figure = draw(text)
        self.report(text, name)
        return figure


class InteractiveDirective(SphinxDirective):
    """Show a figure that reacts to the reader."""

    required_arguments = 1
    has_content = True
    option_spec: ClassVar = {"alt": directives.unchanged_required}

    def run(self) -> list[nodes.Node]:
        """Put its data into the page, and have its script loaded."""
        (name,) = self.arguments
        alt = self.options.get("alt", "")
        script = INTERACTIVE / f"{name}.js"
        if not alt or not script.exists():
            lacks = "an :alt:" if script.exists() else f"a file {script.name}"
            _log.warning("%s: expected %s", name, lacks, location=self.get_location())
            return []
        self.env.metadata[self.env.docname].setdefault("interactive", []).append(name)
        given = {
            "text": yaml.safe_load("\n".join(self.content)) or {},
            "data": values_of(self.env.docname, "data").get(name),
            "more": say("book.interactive.more"),
        }
        needs_script = html.escape(say("book.interactive.needs_script"))
        return [
            nodes.raw(
                "",
                f'<div class="interactive" data-figure="{html.escape(name)}" '
                f'id="figure-{html.escape(name)}" role="group" '
                f'aria-label="{html.escape(alt)}">'
                f"<script type='application/json'>{_safe_json(given)}</script>"
                f"<noscript><p>{needs_script}</p></noscript></div>",
                format="html",
            )
        ]


def _safe_json(value: object) -> str:
    """Write JSON that may stand in a page."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False).replace("</", "<\\/")


def _caption(directive: SphinxDirective) -> nodes.caption:
    """Parse the content of a directive as the caption of a figure."""
    parsed = directive.parse_content_to_nodes()
    children = parsed[0].children if parsed else []
    return nodes.caption("", "", *children)


def _load_scripts(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: object
) -> None:
    """Load the scripts of the figures that a page has, and only there."""
    del template, context, doctree
    names: list[str] = app.env.metadata.get(page, {}).get("interactive", [])
    if names:
        app.add_js_file("figure.js", loading_method="defer")
    for name in names:
        app.add_js_file(f"interactive/{name}.js", loading_method="defer")


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the directives."""
    app.add_directive("drawing", DrawingDirective)
    app.add_directive("interactive", InteractiveDirective)
    app.connect("html-page-context", _load_scripts)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
