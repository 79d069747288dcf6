"""A file in Python: `ast` says where the statements at its top level are."""

import ast
import io
import re
import tokenize
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate, takewhile

from tiny_llm_course.editing.code import Code, Definition
from tiny_llm_course.idle import Function, does_nothing
from tiny_llm_course.imports import statements

Import = ast.Import | ast.ImportFrom


@dataclass(frozen=True, eq=False)
class PythonDefinition(Definition):
    """A statement, which takes whole lines, decorators included.

    Attributes:
        node: What it is.
    """

    node: ast.stmt

    @cached_property
    def uses(self) -> frozenset[str]:
        """The names that it looks up, those of its own variables among them."""
        names = (node for node in ast.walk(self.node) if isinstance(node, ast.Name))
        return frozenset(one.id for one in names if isinstance(one.ctx, ast.Load))

    @cached_property
    def meaning(self) -> str:
        """What it does: without docstrings, comments and layout."""
        return meaning(self.node)

    @property
    def is_private(self) -> bool:
        """Whether one of its names begins with an underscore."""
        return any(name.startswith("_") for name in self.names)

    @property
    def is_stub(self) -> bool:
        """Whether it is `todo(...)` and nothing else, not even a note."""
        return self._is_stub

    @cached_property
    def _is_stub(self) -> bool:
        if not _is_empty(self.node):
            return False
        tokens = tokenize.generate_tokens(io.StringIO(self.text).readline)
        notes = [one.string for one in tokens if one.type == tokenize.COMMENT]
        return all(note.startswith("# noqa") for note in notes)

    @property
    def is_import(self) -> bool:
        """Whether it brings names from elsewhere."""
        return isinstance(self.node, Import)

    @property
    def is_docstring(self) -> bool:
        """Whether it is a bare text."""
        return _is_docstring(self.node)

    @property
    def is_idle(self) -> bool:
        """Whether it is there, and its body does nothing."""
        return does_nothing(self.node)


class PythonCode(Code[PythonDefinition]):
    """A file in Python."""

    GAP = "\n\n\n"

    @classmethod
    def find(cls, text: str) -> tuple[PythonDefinition, ...]:
        """Cut `text` into statements.

        Raises:
            SyntaxError: It is not Python.
        """
        return _statements(text)

    @classmethod
    def outline(cls, name: str) -> re.Pattern[str]:
        """Match a definition up to the next line that begins with a letter or "@"."""
        blank = r"(?:\r?\n[ \t\f]*(?=\r?$)|\n#.*)*"
        return re.compile(
            rf"(?:^@.*\n)*^((?:async\s+def|def|class)\s+{name}\b)"
            rf".*(?:{blank}\n(?![\w@#]|[ \t\f]*\r?$).*)*",
            re.MULTILINE,
        )

    @classmethod
    def empty(cls, name: str, num_line_ends: int) -> str:
        """Write a function that does nothing, on so many lines and one."""
        return f"def {name}(): ..." + "\n    #" * num_line_ends

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """All lines, with what ends them."""
        return split_lines(self.text)

    def named(self, name: str) -> list[PythonDefinition]:
        """Return the last statement that defines `name` and nothing else."""
        return [one for one in self.definitions if one.names == frozenset([name])][-1:]

    def rest(self, definitions: Collection[PythonDefinition]) -> str:
        """Return what all other statements do."""
        others = (one for one in self.definitions if one not in definitions)
        return "\n".join(one.meaning for one in others)

    def unused(self) -> Iterator[PythonDefinition]:
        """Yield the statements with a private name that no other looks up."""
        for one in self.definitions:
            others = (other.uses for other in self.definitions if other is not one)
            unused = one.names.difference(*others)
            if any(name.startswith("_") for name in unused):
                yield one

    def appended(self, text: str) -> "PythonCode":
        """Return the file with a definition at its end."""
        end = len(self.text)
        is_whole = not self.text or self.text.endswith(("\n", "\r"))
        gap = "\n\n" if is_whole else self.GAP
        return self.replaced(end, end, f"{gap}{text}\n")

    def top(self, definition: Definition) -> int:
        """Return where another definition can be put: above comments, too."""
        above = re.search(r"(?:^#.*\n)*\Z", self.text[: definition.start], re.MULTILINE)
        return above.start() if above else definition.start

    def with_import(self, line: str) -> "PythonCode":
        """Add the names of an import that are missing, after the last of its kind.

        What comes from the course gets a section of its own, as the import order of
        the project wants it.
        """
        line = _missing(line, self.names)
        if not line:
            return self
        above = list(
            takewhile(lambda one: one.is_import or one.is_docstring, self.definitions)
        )
        is_relative = line.startswith("from .")
        alike = [one for one in above if _is_relative(one.node) == is_relative]
        section = "\n" if line.startswith("from tiny_llm_course") else ""
        if not above:
            return self.replaced(0, 0, f"{section}{line}\n")
        at = (alike or above)[-1].end
        return self.replaced(at, at, f"\n{section}{line}")


def split_lines(text: str) -> tuple[str, ...]:
    """Cut a text where Python ends a line. `str.splitlines` cuts elsewhere, too."""
    return tuple(re.findall(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+", text))


def first_line(node: ast.stmt) -> int:
    """Return the number of the line where a statement begins, decorators included."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def meaning(node: ast.AST) -> str:
    """Write down what code does: without docstrings, comments and layout."""
    return meaning_of_text(ast.unparse(node))


def meaning_of_text(text: str | bytes) -> str:
    """Write down what a text does, as `meaning` does.

    Raises:
        SyntaxError: It is not Python.
        ValueError: Nor is it, with a null byte in it.
    """
    tree = ast.parse(text)
    for node in statements(tree):
        if isinstance(node, Function | ast.ClassDef | ast.Module):
            node.body = _without_docstring(node)
    return ast.dump(tree)


@lru_cache(maxsize=512)  # all files of a starter and of its solutions
def _statements(text: str) -> tuple[PythonDefinition, ...]:
    try:
        body = ast.parse(text.encode()).body
    except ValueError as error:  # Python 3.11 on a null byte
        raise SyntaxError(str(error)) from error
    lines = split_lines(text)
    starts = [0, *accumulate(map(len, lines))]
    return tuple(_definition(node, lines, starts) for node in body)


def _definition(
    node: ast.stmt, lines: tuple[str, ...], starts: list[int]
) -> PythonDefinition:
    """Find the lines of a statement.

    Comments that are indented below a function or class belong to it.
    """
    first = first_line(node) - 1
    end = last = node.end_lineno or node.lineno
    if isinstance(node, Function | ast.ClassDef):
        while last < len(lines) and re.match(r"[ \t]+#|\s*$", lines[last]):
            last += 1
            end = last if lines[last - 1].strip() else end
    text = "\n".join(line.rstrip("\r\n") for line in lines[first:end])
    stop = starts[end] - (len(lines[end - 1]) - len(lines[end - 1].rstrip("\r\n")))
    named = starts[node.lineno - 1]
    return PythonDefinition(
        frozenset(_bound(node)), text, starts[first], named, stop, node
    )


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


def _missing(line: str, known: frozenset[str]) -> str:
    """Write an import without the names that a file has. "" if it has all."""
    (node,) = ast.parse(line).body
    assert isinstance(node, Import)
    node.names = [
        one
        for one in node.names
        if (one.asname or one.name.partition(".")[0]) not in known
    ]
    return ast.unparse(node) if node.names else ""


def _is_relative(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.level > 0


def _is_empty(node: ast.stmt) -> bool:
    """Tell whether there is nothing but `todo(...)` below the docstring."""
    if isinstance(node, ast.ClassDef):
        body = _without_docstring(node)
        return bool(body) and all(_is_empty(method) for method in body)
    if isinstance(node, Function):
        body = _without_docstring(node)
        return len(body) == 1 and ast.unparse(body[0]).startswith("todo(")
    return False


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _without_docstring(node: Function | ast.ClassDef | ast.Module) -> list[ast.stmt]:
    """Return the statements of a body after its docstring."""
    return node.body[ast.get_docstring(node, clean=False) is not None :]
