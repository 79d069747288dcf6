"""Fixes to a page that Sphinx and the theme do not make themselves."""

import functools
import re
from collections.abc import Callable
from typing import Any

from docutils import nodes
from sphinx.addnodes import only, toctree
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


def _listing_titles() -> Callable[..., None]:
    """Return what has the contents in the margin made of the pages' titles alone.

    The theme drops all else, which Sphinx has copied for each page first.
    """
    titles: dict[str, nodes.bullet_list] = {}

    def shorten(
        app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: object
    ) -> None:
        del page, template, doctree
        listed = context["toctree"]
        whole = app.env.tocs
        if not titles:
            titles.update((name, _title(toc)) for name, toc in whole.items())

        def short(**options: Any) -> str:  # noqa: ANN401 - Sphinx's
            app.env.tocs = titles
            try:
                return listed(**options)
            finally:
                app.env.tocs = whole

        context["toctree"] = short

    return shorten


def _title(contents: nodes.bullet_list) -> nodes.bullet_list:
    """Return the contents of a page without its sections, or as they are."""
    if list(contents.findall(lambda one: isinstance(one, toctree | only))):
        return contents
    title = contents.deepcopy()
    for sections in list(title.findall(nodes.bullet_list))[1:]:
        sections.parent.remove(sections)
    return title


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
    app.connect("html-page-context", _listing_titles(), priority=_BEFORE_THE_THEME)
    app.connect("html-page-context", _sharing(), priority=_BEFORE_THE_THEME)
    app.connect("html-page-context", _complete, priority=_AFTER_THE_THEME)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
