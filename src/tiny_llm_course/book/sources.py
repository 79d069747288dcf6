"""Pages with the learner's files, the tests and the examples, and links into them.

In a chapter, {source}`layer_norm.py#RMSNorm` leads to the line of `RMSNorm` in the
stub, {source}`kernels/matvec.h#matvec_naive` to that of a function in C++, and
{source}`tests/test_week_1_day_4.py` to the tests of a day. A worked example in C++ is
shown function by function, as it is compiled:

    {listing} src/worked_examples/byte_matrix.h#rows_plain rows_of_four

A file or symbol that does not exist fails the build.
"""

import ast
import functools
import html
import re
from collections.abc import Iterator
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.builders.html import StandaloneHTMLBuilder
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective, SphinxRole

from tiny_llm_course.catalogue import say
from tiny_llm_course.editing import starter
from tiny_llm_course.editing.cpp_code import CppCode, CppDefinition
from tiny_llm_course.editing.translation import translated
from tiny_llm_course.language import current
from tiny_llm_course.places import (
    KERNELS,
    SHARED_KERNELS,
    STARTER,
    TESTS,
    WORKED_EXAMPLES,
    here,
)
from tiny_llm_course.syllabus import file_of, is_kernel, name_of, tasks, weeks

_log = logging.getLogger(__name__)


@functools.cache
def pages() -> dict[str, str]:
    """Return the files that the book shows: texts by name in the repository.

    The learner's files are shown as the course delivers them, without edits, and in the
    language of the book.
    """
    stubs = translated(starter.files(here()), current())
    days = [day for week in weeks() for day in week.days]
    return (
        {
            here().link(path): text
            for path, text in stubs.items()
            if path.name != "__init__.py"
        }
        | {
            f"src/{SHARED_KERNELS.name}/kernels/{path.name}": path.read_text("utf-8")
            for path in (SHARED_KERNELS / "kernels").glob("*.h")
        }
        | {
            f"src/{WORKED_EXAMPLES.name}/{path.name}": path.read_text("utf-8")
            for path in WORKED_EXAMPLES.glob("*")
        }
        | {
            f"tests/{name}": (TESTS / name).read_text(encoding="utf-8")
            for day in days
            for name in day.test_files
        }
    )


def line_of(file: str, symbol: str) -> int:
    """Return the line in which a definition begins.

    Args:
        file: A name that `pages` knows.
        symbol: Such as "RMSNorm", or "RMSNorm.__call__".

    Raises:
        KeyError: The file or the symbol is not there.
    """
    if file.endswith(".h"):
        source = CppCode.parse(pages()[file])
        return source.line_of(_function(source, symbol))
    scope: ast.AST = ast.parse(pages()[file])
    for name in symbol.split("."):
        scope = _member(scope, name)
    return getattr(scope, "lineno", 1)


def listing(symbol: str) -> str:
    """Return the stub of a symbol: its signature and docstring.

    Args:
        symbol: As in the syllabus: "layer_norm.RMSNorm", or "matvec.h:matvec_naive".
    """
    if is_kernel(symbol):
        source = CppCode.parse(pages()[source_of(symbol)])
        return _function(source, name_of(symbol)).text
    file, name = symbol.split(".")
    text = pages()[f"src/{STARTER.name}/{file}.py"]
    stub = ast.get_source_segment(text, _member(ast.parse(text), name)) or ""
    return re.sub(r"  # noqa.*", "", stub)


def address(place: str) -> tuple[str, str]:
    """Turn FILE or FILE#SYMBOL into the name of a page and an anchor on it.

    Raises:
        KeyError: The file or the symbol is not there.
    """
    file, _, symbol = place.partition("#")
    if file not in pages():
        folder = KERNELS if file.endswith(".h") else STARTER
        file = f"src/{folder.name}/{file}"
    if file not in pages():
        raise KeyError(place)
    anchor = f"line-{line_of(file, symbol)}" if symbol else ""
    return f"source/{file.removesuffix('.py')}", anchor


def source_of(part: str) -> str:
    """Return the page on which a part of a task is, as `pages` names it."""
    return file_of(part) if is_kernel(part) else f"src/{STARTER.name}/{file_of(part)}"


class SourceRole(SphinxRole):
    """Link to a file, or to a definition in it."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Make the link."""
        file, _, symbol = self.text.partition("#")
        text = nodes.literal(symbol or file, symbol or file)
        try:
            page, anchor = address(self.text)
        except KeyError:
            where = self.get_location()
            _log.warning("expected a file or symbol %s", self.text, location=where)
            return [text], []
        uri = f"{page}.html" + (f"#{anchor}" if anchor else "")
        return [nodes.reference("", "", text, refuri=uri, internal=True)], []


class ListingDirective(SphinxDirective):
    """Show functions of a worked example, with the comments above them."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        """Take the functions out of their file."""
        file, _, names = self.arguments[0].partition("#")
        try:
            source = CppCode.parse(pages()[file])
            texts = [_function(source, name).text for name in names.split()]
        except KeyError:
            where = self.get_location()
            _log.warning(
                "expected functions of a file, %s", self.arguments[0], location=where
            )
            return []
        text = "\n\n".join(texts)
        return [nodes.literal_block(text, text, language="cpp")]


def _function(source: CppCode, name: str) -> CppDefinition:
    """Return the first function with a given name.

    Raises:
        KeyError: There is none.
    """
    found = source.named(name)
    if not found:
        raise KeyError(name)
    return found[0]


def _member(scope: ast.AST, name: str) -> ast.AST:
    """Return the definition of `name` in a module or class."""
    for node in getattr(scope, "body", ()):
        if getattr(node, "name", None) == name:
            return node
    raise KeyError(name)


def _collect_pages(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Add the pages to Sphinx's build."""
    if not isinstance(app.builder, StandaloneHTMLBuilder):
        return
    for file, text in pages().items():
        code = app.builder.highlighter.highlight_block(
            text,
            "python" if file.endswith(".py") else "cpp",
            linenos="inline",
            lineanchors="line",
        )
        body = f"<h1>{html.escape(file)}</h1>\n{_chapters(file)}\n{code}"
        page, _ = address(file)
        yield page, {"title": file, "body": body, "toc": ""}, "page.html"


def _chapters(file: str) -> str:
    """Return links to the chapters that explain a file."""
    up = "../" * (file.count("/") + 1)
    links = [
        f'<li><a href="{up}{task.chapter}.html#task-{task.address.task}">'
        f"{html.escape(f'{task.address}: {task.title}')}</a></li>"
        for task in tasks()
        if file in {f"tests/{task.test_file}", *map(source_of, task.parts)}
    ]
    heading = html.escape(say("book.source.explained"))
    return f"<p>{heading}</p>\n<ul>{''.join(links)}</ul>" if links else ""


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the pages, the role and the directive."""
    app.add_role("source", SourceRole())
    app.add_directive("listing", ListingDirective)
    app.connect("html-collect-pages", _collect_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
