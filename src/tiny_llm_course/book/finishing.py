"""Fixes to a page that Sphinx and the theme do not make themselves."""

import functools
import re
from collections.abc import Callable
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

_CAPTION = 'class="caption" role="heading">'
_CAPTION_WITH_LEVEL = 'class="caption" role="heading" aria-level="2">'
_DRAWING = '<figure class="drawing align-default"'
_SHAPE = re.compile(r"[\w./]{1,8}(?: x [\w./]{1,8}){1,4}")
_BEFORE_THE_THEME, _AFTER_THE_THEME = 100, 900


def _complete(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: object
) -> None:
    """Give captions their heading level, and let the keyboard reach what scrolls."""
    del app, page, template, doctree
    for part in ("body", "furo_navigation_tree"):
        if part in context:
            html = context[part].replace(_CAPTION, _CAPTION_WITH_LEVEL)
            html = html.replace("<pre>", '<pre tabindex="0">')
            context[part] = html.replace(_DRAWING, f'{_DRAWING} tabindex="0"')


def _sharing() -> Callable[..., None]:
    """Return what has pages beside the chapters share their contents in the margin.

    No entry is marked there as the page itself, so a folder has only one such list.
    """
    of_folder: dict[str, Callable[..., str]] = {}

    def share(
        app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: object
    ) -> None:
        del app, template
        if doctree is None:
            own = functools.cache(context["toctree"])
            context["toctree"] = of_folder.setdefault(page.rpartition("/")[0], own)

    return share


def _keep_shapes_together(app: Sphinx, chapter: nodes.document) -> None:
    """Mark shapes such as "L x D", so that no line ends within one."""
    del app
    for code in chapter.findall(nodes.literal):
        if _SHAPE.fullmatch(code.astext()):
            code["classes"].append("shape")


def setup(app: Sphinx) -> dict[str, Any]:
    """Run after each chapter is read, and after each page is rendered."""
    app.connect("doctree-read", _keep_shapes_together)
    app.connect("html-page-context", _sharing(), priority=_BEFORE_THE_THEME)
    app.connect("html-page-context", _complete, priority=_AFTER_THE_THEME)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
