"""A Python file as the statements at its top level, each with the lines it takes.

`ast` says where a statement stands, and edits are made on the lines, so that all that
is not edited stays as it is, byte for byte.
"""

import ast
import io
import re
import tokenize
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

from tiny_llm_course.idle import Function

Import = ast.Import | ast.ImportFrom


@dataclass(frozen=True)
class Statement:
    """One statement of a file, such as a function or an import.

    Attributes:
        node: What it is.
        start: Index of its first line, decorators included.
        end: Index behind its last line.
    """

    node: ast.stmt
    start: int
    end: int

    @cached_property
    def binds(self) -> frozenset[str]:
        """The names that it defines in the file."""
        return frozenset(_bound(self.node))

    @cached_property
    def uses(self) -> frozenset[str]:
        """The names that it looks up, those of its own variables among them."""
        names = (node for node in ast.walk(self.node) if isinstance(node, ast.Name))
        return frozenset(one.id for one in names if isinstance(one.ctx, ast.Load))

    @cached_property
    def meaning(self) -> str:
        """What it does: without docstrings, comments and layout."""
        return meaning(self.node)


@dataclass(frozen=True)
class Source:
    """A file, cut into lines and statements.

    Attributes:
        lines: All lines, with what ends them.
        statements: What stands at the top level, in order.
    """

    lines: tuple[str, ...]
    statements: tuple[Statement, ...]

    @classmethod
    @lru_cache(maxsize=128)
    def parse(cls, text: str) -> "Source":
        """Cut `text` into statements.

        Raises:
            SyntaxError: It is not Python.
        """
        try:
            body = ast.parse(text.encode()).body
        except ValueError as error:  # Python 3.11 on a null byte
            raise SyntaxError(str(error)) from error
        lines = split_lines(text)
        return cls(lines, tuple(_statement(node, lines) for node in body))

    @cached_property
    def names(self) -> frozenset[str]:
        """All names that the file defines or imports."""
        return frozenset[str]().union(*(one.binds for one in self.statements))

    def definition(self, name: str) -> Statement | None:
        """Return the last statement that defines `name` and nothing else."""
        found = [one for one in self.statements if one.binds == frozenset([name])]
        return found[-1] if found else None

    def behind(self, name: str, without: Collection[str] = ()) -> list[Statement]:
        """Return what defines `name`, and all of the file that this needs.

        Args:
            name: Where to start.
            without: Names that are not followed.
        """
        found, wanted = set[Statement](), [name]
        while wanted:
            next_name = wanted.pop()
            new = {one for one in self.statements if next_name in one.binds} - found
            wanted += {used for one in new for used in one.uses} - set(without)
            found |= new
        return [one for one in self.statements if one in found]

    def text(self, statement: Statement) -> str:
        r"""Return a statement as it is written, with "\n" between its lines."""
        lines = self.lines[statement.start : statement.end]
        return "\n".join(line.rstrip("\r\n") for line in lines)

    def replaced(self, start: int, end: int, text: str) -> str:
        """Return the file with other text in place of the lines `start` to `end`."""
        newline = "\r\n" if self.lines and self.lines[0].endswith("\r\n") else "\n"
        before = "".join(self.lines[:start])
        if before and not before.endswith(("\n", "\r")):
            before += newline
        return before + text.replace("\n", newline) + "".join(self.lines[end:])


def read(path: Path) -> str:
    """Read a file as it is, line ends included.

    Raises:
        SyntaxError: It is not text in UTF-8.
    """
    try:
        return path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise SyntaxError(str(error)) from error


def split_lines(text: str) -> tuple[str, ...]:
    """Cut a text where Python ends a line. `str.splitlines` cuts elsewhere, too."""
    return tuple(re.findall(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+", text))


def header(lines: Sequence[str], name: str) -> int | None:
    """Return the index of the line that begins a function or class, by its looks."""
    begins = re.compile(rf"(async\s+def|def|class)\s+{name}\b")
    return next((at for at, line in enumerate(lines) if begins.match(line)), None)


def first_line(node: Function | ast.ClassDef) -> int:
    """Return the number of the line where a definition begins, decorators included."""
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])


def is_docstring(node: ast.stmt) -> bool:
    """Tell whether a statement is a bare text."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def is_stub(source: Source, definition: Statement) -> bool:
    """Tell whether a definition is `todo(...)` and nothing else, not even a note."""
    if not _is_empty(definition.node):
        return False
    tokens = tokenize.generate_tokens(io.StringIO(source.text(definition)).readline)
    notes = [one.string for one in tokens if one.type == tokenize.COMMENT]
    return all(note.startswith("# noqa") for note in notes)


def meaning(node: ast.AST) -> str:
    """Write down what code does: without docstrings, comments and layout."""
    return ast.dump(_WithoutDocstrings().visit(ast.parse(ast.unparse(node))))


class _WithoutDocstrings(ast.NodeTransformer):
    """Take the docstrings out of a tree."""

    def generic_visit(self, node: ast.AST) -> ast.AST:
        """Drop the docstring of `node`, if it has one, and of all that is in it."""
        if isinstance(node, Function | ast.ClassDef | ast.Module):
            node.body = _without_docstring(node)
        return super().generic_visit(node)


def _statement(node: ast.stmt, lines: tuple[str, ...]) -> Statement:
    """Find the lines of a statement.

    Comments that are indented below a definition belong to it.
    """
    end = last = node.end_lineno or node.lineno
    if not isinstance(node, Function | ast.ClassDef):
        return Statement(node, node.lineno - 1, end)
    while last < len(lines) and re.match(r"[ \t]+#|\s*$", lines[last]):
        last += 1
        if lines[last - 1].strip():
            end = last
    return Statement(node, first_line(node) - 1, end)


def _bound(node: ast.AST) -> Iterator[str]:
    """Yield the names that a statement defines in its file."""
    if isinstance(node, Function | ast.ClassDef):
        yield node.name
    elif isinstance(node, Import):
        for alias in node.names:
            yield alias.asname or alias.name.split(".")[0]
    elif isinstance(node, ast.Name):
        if isinstance(node.ctx, ast.Store):
            yield node.id
    else:
        for child in ast.iter_child_nodes(node):
            yield from _bound(child)


def _is_empty(node: ast.stmt) -> bool:
    """Tell whether there is nothing but `todo(...)` below the docstring."""
    if isinstance(node, ast.ClassDef):
        body = _without_docstring(node)
        return bool(body) and all(_is_empty(method) for method in body)
    if isinstance(node, Function):
        body = _without_docstring(node)
        return len(body) == 1 and ast.unparse(body[0]).startswith("todo(")
    return False


def _without_docstring(node: Function | ast.ClassDef | ast.Module) -> list[ast.stmt]:
    """Return the statements of a body behind its docstring."""
    return node.body[ast.get_docstring(node, clean=False) is not None :]
