"""A file in C++: the functions in its namespaces, and the namespaces of helpers.

This is not a parser. It blanks out what is not code, matches brackets, and judges what
is in front of a brace by its looks. So it can read code that is half written, as long
as the brackets match, where a parser would lose the functions around a mistake.
"""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

from tiny_llm_course.catalogue import say
from tiny_llm_course.editing.code import SUFFIX, Code, Definition

PRIVATE = "detail"
"""The namespace of what belongs to an answer."""

TODO_INCLUDE = '#include "kernels/todo.h"'

_TOKEN = re.compile(
    r"""
      (?P<comment>//(?:[^\n]*\\\r?\n)*[^\n]* | /\*.*?\*/)
    | (?P<directive>^[ \t]*\#(?:[^\n]*\\\r?\n)*[^\n]*)
    | (?P<literal>(?:u8|u|U|L)?R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)"
                 |(?:u8|u|U|L)?"(?:[^"\\\n]|\\.)*"
                 |(?:u8|u|U|L)?'(?:[^'\\\n]|\\.)*'
                 |\.?\d(?:[eEpP][+-]|'?[\w.])*)
    | (?P<name>[A-Za-z_]\w*)
    | (?P<sign>::|\S)
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
_CLOSING = {"(": ")", "[": "]", "{": "}"}
_PRIVATE = re.compile(rf"{PRIVATE}(?:{SUFFIX})*")
_SCOPE = re.compile(r"\s*(?:(?:inline\s+)?namespace\b.*|extern\s*)", re.DOTALL)
_FUNCTION = re.compile(
    r"""=|\b(?:struct|class|union|enum)\b
    |(?P<name>\boperator\b
      |\b(?!__attribute__|alignas|requires|decltype|__declspec)[A-Za-z_]\w*(?=\s*\())
    """,
    re.VERBOSE,
)
"""The first of these before a brace tells whether it is that of a function."""


@dataclass(frozen=True, eq=False)
class CppDefinition(Definition):
    """A function, or a namespace of helpers, with the comment above it.

    Attributes:
        head: Where it begins without that.
        body: Where its "{" is.
        inside: The text between the braces, comments included.
    """

    head: int
    body: int
    inside: str

    @property
    def name(self) -> str:
        """What it is called."""
        (name,) = self.names
        return name

    @cached_property
    def uses(self) -> frozenset[str]:
        """The namespaces of helpers that it names: all else is included, or given."""
        return frozenset(filter(_PRIVATE.fullmatch, names_in(self.text)))

    @cached_property
    def meaning(self) -> str:
        """What it does: without comments and layout."""
        return meaning(self.text)

    @property
    def is_private(self) -> bool:
        """Whether it is a namespace of helpers."""
        return bool(_PRIVATE.fullmatch(self.name))

    @property
    def is_stub(self) -> bool:
        """Whether it is `todo(...)` and nothing else, not even a note."""
        return bool(re.fullmatch(r'todo\("[^"]*"\);', self.inside))


class CppCode(Code[CppDefinition]):
    """A file in C++."""

    GAP = "\n\n"

    @classmethod
    def find(cls, text: str) -> tuple[CppDefinition, ...]:
        """Find the functions and the namespaces of helpers.

        Raises:
            SyntaxError: A bracket has no counterpart.
        """
        return _blocks(text)

    @classmethod
    def outline(cls, name: str) -> re.Pattern[str]:
        """Match a function up to a brace at the very left."""
        head = rf"(?:template[^\n]*\n)?([^\s/#}}][^\n;=]*\b{re.escape(name)}\()"
        return re.compile(rf"^{head}.*?^}}", re.MULTILINE | re.DOTALL)

    @classmethod
    def empty(cls, name: str, num_line_ends: int) -> str:
        """Write a function that does nothing, on so many lines and one."""
        lines = "\n" * num_line_ends
        return f"void {name}() {{{lines}}}"

    @cached_property
    def functions(self) -> list[CppDefinition]:
        """Those in its namespaces, but for private ones."""
        return [one for one in self.definitions if not one.is_private]

    @cached_property
    def private(self) -> list[CppDefinition]:
        """The namespaces of what belongs to an answer."""
        return [one for one in self.definitions if one.is_private]

    def named(self, name: str) -> list[CppDefinition]:
        """Return all functions of a name: overloads and specialisations."""
        return [one for one in self.definitions if one.name == name]

    def dependencies(
        self, name: str, without: Collection[str] = ()
    ) -> list[CppDefinition]:
        """Return the functions of a name, and the helpers above them."""
        last = max((one.start for one in self.named(name)), default=0)
        return [one for one in super().dependencies(name, without) if one.start <= last]

    def rest(self, definitions: Collection[CppDefinition]) -> str:
        """Return what the rest of the file does."""
        return meaning(without(self.text, definitions))

    def unused(self) -> Iterator[CppDefinition]:
        """Yield the namespaces of helpers that nothing outside of them names."""
        used = names_in(without(self.text, self.private))
        return (one for one in self.private if one.name not in used)

    def appended(self, text: str) -> "CppCode":
        """Return the file with a function at the end of the last namespace."""
        end = self.text.rfind("\n}") + 1 or len(self.text)
        return self.replaced(end, end, f"{text}\n\n")

    def imports_for(self, name: str, without: Collection[str] = ()) -> list[str]:
        """Return what the file includes on every machine, whatever needs it."""
        del name, without
        return [found[0].strip() for found in includes(self.text)]

    def with_import(self, line: str) -> "CppCode":
        """Include a file after those of its kind, unless that is done already."""
        present = list(directives(self.text))
        if line in {found[0].strip() for found in present}:
            return self
        own = list(includes(self.text))
        alike = [found for found in own if found[0].strip()[:10] == line[:10]]
        above = (alike or own or present)[-1:]
        if not above:
            return self.replaced(0, 0, f"{line}\n\n")
        at = above[0].start() + len(above[0][0].rstrip())
        return self.replaced(at, at, f"\n{line}" if alike else f"\n\n{line}")


@lru_cache(maxsize=1024)
def meaning(text: str) -> str:
    """Write down what code does: without comments and layout."""
    return " ".join(
        re.sub(r"\s+", " ", found.group()).strip()
        for found in _TOKEN.finditer(text)
        if found.lastgroup != "comment"
    )


@lru_cache(maxsize=1024)
def names_in(text: str) -> frozenset[str]:
    """Return all names in a piece of code."""
    found = _TOKEN.finditer(text)
    return frozenset(one.group() for one in found if one.lastgroup == "name")


def without(text: str, definitions: Collection[CppDefinition]) -> str:
    """Return the text of a file without some of its definitions."""
    for one in sorted(definitions, key=lambda one: -one.start):
        text = text[: one.start] + text[one.end :]
    return text


@lru_cache(maxsize=1024)
def directives(text: str) -> tuple[re.Match[str], ...]:
    """Return the lines for the preprocessor, such as `#include <vector>`."""
    found = _TOKEN.finditer(text)
    return tuple(one for one in found if one.lastgroup == "directive")


def includes(text: str) -> Iterator[re.Match[str]]:
    """Yield the lines that include something, on every machine."""
    depth = 0
    for one in directives(text):
        word = one[0].lstrip("# \t")
        depth += word.startswith("if") - word.startswith("endif")
        if depth == 0 and word.startswith("include"):
            yield one


@lru_cache(maxsize=512)  # all files of a starter and of its solutions
def _blocks(text: str) -> tuple[CppDefinition, ...]:
    return tuple(_Reader(text).definitions(0, len(text)))


class _Reader:
    """Goes through a file once.

    Args:
        text: The whole file.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._comments: list[re.Match[str]] = []
        self._code = self._blanked()
        self._closing = self._pairs()

    def _blanked(self) -> str:
        """Return the text with spaces for comments, directives and literals."""
        pieces, done = list[str](), 0
        for one in _TOKEN.finditer(self._text):
            if one.lastgroup in {"comment", "directive", "literal"}:
                pieces += [self._text[done : one.start()], " " * len(one[0])]
                done = one.end()
            if one.lastgroup == "comment":
                self._comments.append(one)
        return "".join([*pieces, self._text[done:]])

    def _pairs(self) -> dict[int, int]:
        """Return where the brackets are closed that open at some places.

        Raises:
            SyntaxError: One has no counterpart.
        """
        waiting, closing = list[int](), dict[int, int]()
        for found in re.finditer(r"[()\[\]{}]", self._code):
            if found[0] in _CLOSING:
                waiting.append(found.start())
            elif not waiting or _CLOSING[self._code[waiting[-1]]] != found[0]:
                raise self._error(found.start())
            else:
                closing[waiting.pop()] = found.start()
        if waiting:
            raise self._error(waiting[-1])
        return closing

    def definitions(self, first: int, end: int) -> Iterator[CppDefinition]:
        """Yield the functions and namespaces of helpers in a namespace, in order."""
        at = first
        while found := re.compile(r"[;({\[]").search(self._code, at, end):
            start = found.start()
            at = self._closing.get(start, start) + 1
            if found[0] == "{" and _SCOPE.fullmatch(self._code, first, start):
                *_, name = re.finditer(r"\w+", self._code[first:start])
                if _PRIVATE.fullmatch(name[0]):
                    yield self._definition(name[0], first, first + name.start(), start)
                else:
                    yield from self.definitions(start + 1, at - 1)
            elif found[0] == "{" and (name := self._function(first, start)):
                yield self._definition(name[0], first, first + name.start(), start)
            elif found[0] != ";":
                continue
            first = at

    def _function(self, first: int, brace: int) -> re.Match[str] | None:
        """Find the name, counted from `first`, if a brace is that of a function."""
        head, at = self._code[:brace], first
        while found := re.compile(r"[(\[{]").search(head, at):
            start, at = found.end(), self._closing[found.start()]
            head = head[:start] + " " * (at - start) + head[at:]
        head, whole = head[first:], ""
        while head != whole:
            whole = head
            head = re.sub(r"<[^<>]*>", lambda angles: " " * len(angles[0]), whole)
        found = _FUNCTION.search(head)
        return found if found and found["name"] else None

    def _definition(
        self, name: str, first: int, named: int, brace: int
    ) -> CppDefinition:
        """Describe what a brace is the body of, with the comments beside it."""
        head = brace - len(self._code[first:brace].lstrip())
        start, end = self._with_comment_above(head), self._closing[brace] + 1
        rest = re.compile(r"[^\r\n]*").match(self._code, end)
        if _PRIVATE.fullmatch(name) and rest and not rest[0].strip():
            end += len(self._text[end : rest.end()].rstrip())
        text = self._text[start:end].replace("\r\n", "\n")
        inside = self._text[brace + 1 : self._closing[brace]].strip()
        return CppDefinition(
            frozenset([name]), text, start, named, end, head, brace, inside
        )

    def _with_comment_above(self, start: int) -> int:
        """Return where the comment begins that ends on the line above."""
        for one in reversed(self._comments):
            between = self._text[one.end() : start]
            line = self._text.rfind("\n", 0, one.start()) + 1
            if one.end() > start:
                continue
            if between.strip() or between.count("\n") != 1:
                break
            if self._text[line : one.start()].strip():
                break
            start = one.start()
        return start

    def _error(self, at: int) -> SyntaxError:
        """Complain about a bracket without its counterpart."""
        error = SyntaxError(say("commands.no_counterpart", sign=self._code[at]))
        error.lineno = self._code.count("\n", 0, at) + 1
        return error
