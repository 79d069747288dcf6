"""A C++ file as the functions in its namespaces, each with the text it takes.

This is no parser. It knows comments, literals, brackets and namespaces, which is enough
to say where a function begins and ends, and edits are made on the text, so that all
that is not edited stays as it is, byte for byte.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

PRIVATE = "detail"
"""The namespace of what belongs to an answer."""

BROUGHT = f"{PRIVATE}_of_reference"
"""What it is called in a file where the learner has one, too."""

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
_NOT_A_FUNCTION = {"__attribute__", "alignas", "requires", "decltype", "__declspec"}
"""Names that have parentheses behind them, in front of the name of a function."""


@dataclass(frozen=True)
class Token:
    """A name, a sign or a literal.

    Attributes:
        text: As it is written.
        start: Where it begins in the file.
    """

    text: str
    start: int

    @property
    def end(self) -> int:
        """Where it ends in the file."""
        return self.start + len(self.text)


@dataclass(frozen=True)
class Block:
    """A function, or a namespace.

    Attributes:
        name: What it is called.
        start: Where it begins, with the comment above it.
        head: Where it begins without that.
        named: Where its name stands.
        body: Where its "{" stands.
        end: Behind its "}".
    """

    name: str
    start: int
    head: int
    named: int
    body: int
    end: int


@dataclass(frozen=True)
class CppSource:
    """A file, and where its functions are.

    Attributes:
        text: The whole file.
        functions: Those in its namespaces, but for private ones, in order.
        private: The namespaces of what belongs to an answer.
    """

    text: str
    functions: tuple[Block, ...]
    private: tuple[Block, ...]

    @classmethod
    @lru_cache(maxsize=128)
    def parse(cls, text: str) -> "CppSource":
        """Find the functions of a file.

        Raises:
            SyntaxError: A bracket has no counterpart.
        """
        reader = _Reader(text)
        reader.read()
        return cls(text, tuple(reader.functions), tuple(reader.private))

    def named(self, name: str) -> list[Block]:
        """Return all functions of a name: overloads and specialisations."""
        return [one for one in self.functions if one.name == name]

    def text_of(self, block: Block) -> str:
        r"""Return a block as it is written, with "\n" between its lines."""
        return self.text[block.start : block.end].replace("\r\n", "\n")

    def body_of(self, block: Block) -> str:
        """Return what stands between the braces, comments included."""
        return self.text[block.body + 1 : block.end - 1].strip()

    def line_of(self, block: Block) -> int:
        """Return the number of the line with the name of a block."""
        return self.text.count("\n", 0, block.named) + 1

    @cached_property
    def newline(self) -> str:
        """What ends the lines of the file."""
        return "\r\n" if "\r\n" in self.text else "\n"

    def replaced(self, start: int, end: int, text: str) -> str:
        """Return the file with other text in place of what is between two places."""
        inserted = text.replace("\n", self.newline)
        return self.text[:start] + inserted + self.text[end:]


@lru_cache(maxsize=1024)
def meaning(text: str) -> str:
    """Write down what code does: without comments and layout."""
    return " ".join(
        re.sub(r"\s+", " ", found.group()).strip()
        for found in _TOKEN.finditer(text)
        if found.lastgroup != "comment"
    )


def names_in(text: str) -> set[str]:
    """Return all names that stand in code."""
    return {one.group() for one in _TOKEN.finditer(text) if one.lastgroup == "name"}


def includes(text: str) -> Iterator[Token]:
    """Yield the lines that include something, on every machine."""
    depth = 0
    for one in directives(text):
        word = one.text.lstrip("# \t")
        depth += word.startswith("if") - word.startswith("endif")
        if depth == 0 and word.startswith("include"):
            yield one


def directives(text: str) -> Iterator[Token]:
    """Yield the lines for the preprocessor, such as `#include <vector>`."""
    for found in _TOKEN.finditer(text):
        if found.lastgroup == "directive":
            yield Token(found.group().rstrip(), found.start())


class _Reader:
    """Go through a file once, and note where its functions are.

    Args:
        text: The whole file.
    """

    def __init__(self, text: str) -> None:
        self.functions: list[Block] = []
        self.private: list[Block] = []
        self._text = text
        self._tokens = [
            Token(one.group(), one.start())
            for one in _TOKEN.finditer(text)
            if one.lastgroup not in {"comment", "directive"}
        ]

    def read(self) -> None:
        """Note all functions."""
        end = self._read_scope(0, is_private=False)
        if end < len(self._tokens):
            raise self._error(self._tokens[end])

    def _read_scope(self, at: int, *, is_private: bool) -> int:
        """Read what stands in a namespace. Return the index of what closes it."""
        first = at
        while at < len(self._tokens) and self._tokens[at].text != "}":
            token = self._tokens[at]
            if token.text == "template":
                at = self._behind_angles(at + 1)
            elif token.text == ";":
                at = first = at + 1
            elif token.text == "{" and self._is_scope(first, at):
                end = self._read_namespace(first, at, is_private=is_private)
                at = first = end + 1
            elif token.text == "{" and (named := self._function(first, at)):
                end = self._closing(at)
                if not is_private:
                    self.functions.append(self._block(first, named, at, end))
                at = first = end + 1
            elif token.text in _CLOSING:
                at = self._closing(at) + 1
            else:
                at += 1
        return at

    def _read_namespace(self, first: int, opening: int, *, is_private: bool) -> int:
        """Read a namespace. Return the index of the brace that closes it."""
        named = self._tokens[opening - 1]
        is_answer = named.text in {PRIVATE, BROUGHT} and not is_private
        end = self._read_scope(opening + 1, is_private=is_private or is_answer)
        if end >= len(self._tokens):
            raise self._error(self._tokens[opening])
        if is_answer:
            self.private.append(self._block(first, named, opening, end))
        return end

    def _is_scope(self, first: int, opening: int) -> bool:
        """Tell whether a namespace begins, or `extern "C"`."""
        words = [one.text for one in self._tokens[first:opening]]
        return "namespace" in words[:2] or words == ["extern", '"C"']

    def _function(self, first: int, opening: int) -> Token | None:
        """Return the name, if what begins at a brace is the body of a function."""
        at = first
        while at < opening:
            token = self._tokens[at]
            if token.text == "template":
                at = self._behind_angles(at + 1)
                continue
            if token.text == "operator":
                return token
            if token.text in {"=", "struct", "class", "union", "enum"}:
                return None
            if token.text == "(" and (named := self._name_before(first, at)):
                return named
            at = self._closing(at) + 1 if token.text in _CLOSING else at + 1
        return None

    def _name_before(self, first: int, at: int) -> Token | None:
        """Return the name in front of a parenthesis, without template arguments."""
        at -= 1
        depth = 0
        while at >= first:
            text = self._tokens[at].text
            depth += (text == ">") - (text == "<")
            if depth == 0 and text != "<":
                is_name = re.match(r"[A-Za-z_]", text) and text not in _NOT_A_FUNCTION
                return self._tokens[at] if is_name else None
            at -= 1
        return None

    def _behind_angles(self, at: int) -> int:
        """Return the index behind the parameters of a template."""
        depth = 0
        while at < len(self._tokens):
            text = self._tokens[at].text
            if text in _CLOSING:
                at = self._closing(at)
            depth += (text == "<") - (text == ">")
            at += 1
            if depth <= 0:
                break
        return at

    def _closing(self, opening: int) -> int:
        """Return the index of the bracket that closes one.

        Raises:
            SyntaxError: There is none.
        """
        waiting: list[int] = []
        for at in range(opening, len(self._tokens)):
            text = self._tokens[at].text
            if text in _CLOSING:
                waiting.append(at)
            elif text in _CLOSING.values():
                if text != _CLOSING[self._tokens[waiting.pop()].text]:
                    raise self._error(self._tokens[at])
                if not waiting:
                    return at
        raise self._error(self._tokens[waiting[-1]])

    def _block(self, first: int, named: Token, opening: int, closing: int) -> Block:
        """Describe what stands between two tokens."""
        head = self._tokens[first].start
        return Block(
            named.text,
            _with_comment_above(self._text, head),
            head,
            named.start,
            self._tokens[opening].start,
            self._tokens[closing].end,
        )

    def _error(self, token: Token) -> SyntaxError:
        """Complain about a bracket that stands alone."""
        line = self._text.count("\n", 0, token.start) + 1
        error = SyntaxError(f"'{token.text}' has no counterpart")
        error.lineno = line
        return error


def _with_comment_above(text: str, start: int) -> int:
    """Return where the comment begins that ends on the line above."""
    comments = [
        one for one in _TOKEN.finditer(text, 0, start) if one.lastgroup == "comment"
    ]
    while comments and _is_next_line(text[comments[-1].end() : start]):
        comment = comments.pop()
        line = text.rfind("\n", 0, comment.start()) + 1
        if text[line : comment.start()].strip():
            break
        start = comment.start()
    return start


def _is_next_line(between: str) -> bool:
    """Tell whether there is one line end between two places, and nothing else."""
    return not between.strip() and between.count("\n") == 1


def is_stub(source: CppSource, functions: Sequence[Block]) -> bool:
    """Tell whether functions are `todo(...)` and nothing else, not even a note."""
    stub = re.compile(r'todo\("[^"]*"\);')
    return all(stub.fullmatch(source.body_of(one)) for one in functions)
