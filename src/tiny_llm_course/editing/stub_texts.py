"""What a file of the starter says to its reader: its docstrings and its comments.

Each has a key: `layer_norm.RMSNorm` for the docstring of a class, `layer_norm` for that
of the file, `matvec.h:matvec_naive` for the comment above a function in C++, and
`kernels#2` for the second comment of a file.
"""

import ast
import io
import re
import tokenize
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from inspect import cleandoc
from itertools import accumulate, count

from tiny_llm_course.editing.cpp_code import CppCode
from tiny_llm_course.idle import Function

COMMENT = re.compile(
    r"^(?P<rest>[ \t]*(?P<mark>///?|#))(?: .*|(?=\n))(?:\n(?P=rest)(?: .*|(?=\n|\Z)))*",
    re.MULTILINE,
)
"""Comments on whole lines, below each other."""

DOCSTRING = re.compile(r'(?P<first>r?""")(?P<words>.*)"""', re.DOTALL)

FOR_TOOLS = re.compile(r"#!|# (?:noqa|pyright|type):")


@dataclass(frozen=True)
class Text:
    """A docstring or a comment, which may have several lines.

    Attributes:
        key: What it is about.
        start: Where it begins in the file.
        end: Where it ends.
        words: What it says.
        first: What stands before its words.
        rest: What stands before each further line.
        last: What ends it, if it has one line.
        last_of_many: What ends it, if it has several.
    """

    key: str
    start: int
    end: int
    words: str
    first: str
    rest: str
    last: str = ""
    last_of_many: str = ""

    def written(self, words: str) -> str:
        """Write other words in its place."""
        lines = words.split("\n")
        below = [
            f"\n{self.rest}{line}" if line else f"\n{self.rest.rstrip()}"
            for line in lines[1:]
        ]
        end = self.last_of_many if below else self.last
        return "".join([self.first, lines[0], *below, end])


@lru_cache(maxsize=512)  # a command asks several times, of all files of a starter
def texts(source: str, file: str) -> tuple[Text, ...]:
    """Find what a file says, in its order.

    Args:
        source: The file, with a line feed between lines.
        file: Its name.

    Raises:
        SyntaxError: It cannot be parsed.
    """
    found = _in_python(source, file) if file.endswith(".py") else _in_cpp(source, file)
    return tuple(sorted(found, key=lambda one: one.start))


def with_words(source: str, file: str, words: Mapping[str, str]) -> str:
    """Put other words in the place of those that are known.

    All else stays as it is, and so does a file with line ends of several kinds.

    Args:
        source: The file.
        file: Its name.
        words: By what they take the place of.

    Raises:
        SyntaxError: The file cannot be parsed.
    """
    plain = source.replace("\r\n", "\n")
    newline = "\n" if plain == source else "\r\n"
    if not words or "\r" in plain or plain.replace("\n", newline) != source:
        return source
    for one in reversed(texts(plain, file)):
        if one.words in words:
            plain = (
                plain[: one.start] + one.written(words[one.words]) + plain[one.end :]
            )
    return plain.replace("\n", newline)


def _in_python(source: str, file: str) -> Iterator[Text]:
    stem, places = file.removesuffix(".py"), _Places(source)
    try:
        tree = ast.parse(source)
    except ValueError as error:  # Python 3.11 on a null byte
        raise SyntaxError(str(error)) from error
    yield from _docstrings(tree, stem, source, places)
    numbers = count(1)
    for start, end in _comments(source, places):
        block = COMMENT.fullmatch(source, start, end)
        if block and not FOR_TOOLS.match(block[0].lstrip()):
            yield _comment(block, f"{stem}#{next(numbers)}")


class _Places:
    """Where the lines and columns of a file are in its text."""

    def __init__(self, source: str) -> None:
        self._lines = source.split("\n")
        self._starts = [0, *accumulate(len(line) + 1 for line in self._lines)]

    def at(self, line: int, column: int) -> int:
        """Return a place whose column is counted in characters."""
        return self._starts[line - 1] + column

    def at_byte(self, line: int, column: int) -> int:
        """Return a place whose column is counted in bytes, as `ast` does."""
        before = self._lines[line - 1].encode()[:column].decode()
        return self.at(line, len(before))


def _docstrings(
    node: ast.Module | ast.ClassDef | Function, key: str, source: str, places: _Places
) -> Iterator[Text]:
    """Yield the docstrings of a file, a class or a function, and of all in it."""
    about = key
    for statement in node.body:
        if isinstance(statement, Function | ast.ClassDef):
            name = f"{key}.{statement.name}"
            yield from _docstrings(statement, name, source, places)
        elif isinstance(statement, ast.Expr) and isinstance(
            statement.value, ast.Constant
        ):
            start = places.at_byte(statement.lineno, statement.col_offset)
            end = places.at_byte(
                statement.end_lineno or 0, statement.end_col_offset or 0
            )
            if docstring := DOCSTRING.fullmatch(source, start, end):
                yield _docstring(docstring, about)
        about = _target(statement, key)


def _target(statement: ast.stmt, key: str) -> str:
    """Return the key of a text that stands below a statement."""
    target = (
        statement.targets[0]
        if isinstance(statement, ast.Assign)
        else getattr(statement, "target", None)
    )
    return f"{key}.{target.id}" if isinstance(target, ast.Name) else key


def _docstring(found: re.Match[str], key: str) -> Text:
    column = found.start() - found.string.rfind("\n", 0, found.start()) - 1
    indent, last = " " * column, '"""'
    words, first = cleandoc(found["words"]), found["first"]
    return Text(
        key, found.start(), found.end(), words, first, indent, last, f"\n{indent}{last}"
    )


def _comments(source: str, places: _Places) -> Iterator[tuple[int, int]]:
    """Yield where comments on whole lines are, those below each other as one."""
    found: list[tuple[int, int]] = []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT and token.line.lstrip().startswith("#"):
            start, end = places.at(token.start[0], 0), places.at(*token.end)
            if found and found[-1][1] + 1 == start:
                start = found.pop()[0]
            found.append((start, end))
    yield from found


def _comment(block: re.Match[str], key: str) -> Text:
    rest, mark = block["rest"], block["mark"]
    lines = block[0].split("\n")
    words = "\n".join(line.lstrip()[len(mark) + 1 :] for line in lines)
    return Text(key, block.start(), block.end(), words, f"{rest} ", f"{rest} ")


def _in_cpp(source: str, file: str) -> Iterator[Text]:
    above = {
        one.start: f"{file}:{one.name}"
        for one in CppCode.parse(source).definitions
        if one.start < one.head
    }
    numbers, seen = count(1), set[str]()
    for block in COMMENT.finditer(source):
        start = block.start() + len(block["rest"]) - len(block["mark"])
        key = above.get(start, file if block.start() == 0 else "")
        if not key or key in seen:
            key = f"{file}#{next(numbers)}"
        seen.add(key)
        yield _comment(block, key)
