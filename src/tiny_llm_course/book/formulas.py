"""Formulas, set by KaTeX while the book is built: pages carry no script for it.

Each becomes HTML for the eye and MathML for a screen reader. TeX that KaTeX does not
understand is a warning of Sphinx, which fails a strict build.
"""

import functools
import json
from typing import Any

import quickjs  # pyright: ignore[reportMissingTypeStubs]
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.writers.html5 import HTML5Translator

from tiny_llm_course.places import BOOK

KATEX = BOOK / "static" / "katex"

MACROS = {
    r"\softmax": r"\operatorname{softmax}",
    r"\silu": r"\operatorname{silu}",
    r"\rms": r"\operatorname{rms}",
    r"\RMSNorm": r"\operatorname{RMSNorm}",
    r"\LayerNorm": r"\operatorname{LayerNorm}",
    r"\attention": r"\operatorname{attention}",
}

_log = logging.getLogger(__name__)


class FormulaError(ValueError):
    """TeX that KaTeX does not understand."""


@functools.cache
def render(tex: str, *, display: bool) -> str:
    """Set a formula.

    Args:
        tex: The formula, in TeX.
        display: Whether it stands on lines of its own, not inside a sentence.

    Raises:
        FormulaError: KaTeX does not understand it.
    """
    options = json.dumps({"displayMode": display, "macros": MACROS, "strict": "error"})
    # The engine keeps a long string in pieces; `normalize` joins them.
    call = f"katex.renderToString({json.dumps(tex)}, {options}).normalize()"
    try:
        return _engine().eval(call)
    except quickjs.JSException as error:
        raise FormulaError(str(error).partition("\n")[0]) from error


@functools.cache
def _engine() -> Any:  # noqa: ANN401 - quickjs has no types
    """Start the JavaScript engine with KaTeX in it."""
    engine = quickjs.Context()
    engine.eval((KATEX / "katex.min.js").read_text(encoding="utf-8"))
    return engine


def _visit_inline(translator: HTML5Translator, node: nodes.math) -> None:
    translator.body.append(_rendered(node, display=False))
    raise nodes.SkipNode


def _visit_display(translator: HTML5Translator, node: nodes.math_block) -> None:
    number = f"<span class='equation-number'>({node['number']})</span>"
    anchor = "".join(f" id='{one}'" for one in node.get("ids", ())[:1])
    # A formula wider than a phone scrolls, so the keyboard has to reach it.
    translator.body.append(
        f"<div class='formula'{anchor} tabindex='0'>{_rendered(node, display=True)}"
        f"{number if node['number'] else ''}</div>"
    )
    raise nodes.SkipNode


def _rendered(node: nodes.Element, *, display: bool) -> str:
    """Set the formula of a node, or say where the mistake is."""
    try:
        return render(node.astext(), display=display)
    except FormulaError as error:
        _log.warning("%s", error, location=node, type="formula")
        return "<code>?</code>"


def setup(app: Sphinx) -> dict[str, Any]:
    """Register this as Sphinx's renderer of formulas."""
    app.add_html_math_renderer("katex", (_visit_inline, None), (_visit_display, None))
    app.add_css_file("katex/katex.min.css")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
