"""A file as the definitions at its top level, each with the text it takes.

Edits are made on the text, so that all that is not edited stays as it is, byte for
byte. `python_code.py` and `cpp_code.py` find the definitions of the two languages.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Generic, Self, TypeVar

SUFFIX = "_of_reference"
"""Ends the name of a helper of the course, where the learner's has the same name."""


@dataclass(frozen=True, eq=False)
class Definition(ABC):
    """A function, class, constant or import.

    Attributes:
        names: What it defines in the file.
        text: How it is written, with a line feed between lines.
        start: Where it begins in the file.
        named: Where its name is, for links.
        end: Where it ends.
    """

    names: frozenset[str]
    text: str
    start: int
    named: int
    end: int

    @cached_property
    @abstractmethod
    def uses(self) -> frozenset[str]:
        """The names that it looks up, those of its own variables among them."""

    @cached_property
    @abstractmethod
    def meaning(self) -> str:
        """What it does: without comments and layout."""

    @property
    @abstractmethod
    def is_private(self) -> bool:
        """Whether it belongs to an answer, as a helper."""

    @property
    @abstractmethod
    def is_stub(self) -> bool:
        """Whether it is `todo(...)` and nothing else, not even a note."""

    @property
    def is_import(self) -> bool:
        """Whether it brings names from elsewhere."""
        return False

    @property
    def is_idle(self) -> bool:
        """Whether it is there, and its body does nothing."""
        return False


D_co = TypeVar("D_co", bound=Definition, covariant=True)


@dataclass(frozen=True, eq=False)
class Code(ABC, Generic[D_co]):
    """A file, and what it defines.

    Attributes:
        text: The whole file.
        definitions: Those at its top level, in order.
    """

    text: str
    definitions: tuple[D_co, ...]

    GAP: ClassVar[str]
    """The text between two definitions."""

    @classmethod
    @abstractmethod
    def find(cls, text: str) -> tuple[D_co, ...]:
        """Find the definitions of a file.

        Raises:
            SyntaxError: It is not written in this language.
        """

    @classmethod
    @abstractmethod
    def outline(cls, name: str) -> re.Pattern[str]:
        """Match a definition by its looks, in a file that cannot be parsed.

        The first group begins on the line with its name.
        """

    @classmethod
    @abstractmethod
    def empty(cls, name: str, num_line_ends: int) -> str:
        """Write a definition that does nothing, on so many lines and one."""

    @abstractmethod
    def named(self, name: str) -> list[D_co]:
        """Return what defines a name, and nothing else with it."""

    @abstractmethod
    def rest(self, definitions: Collection[D_co]) -> str:
        """Return what the file does without some of its definitions."""

    @abstractmethod
    def unused(self) -> Iterator[D_co]:
        """Yield the private helpers that nothing else needs."""

    @abstractmethod
    def appended(self, text: str) -> Self:
        """Return the file with a definition at its end."""

    @abstractmethod
    def with_import(self, line: str) -> Self:
        """Add an import after those of its kind, except for what is there already."""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a file.

        Raises:
            SyntaxError: It is not written in this language.
        """
        return cls(text, cls.find(text))

    def top(self, definition: Definition) -> int:
        """Return where another definition can be put above one."""
        return definition.start

    @cached_property
    def names(self) -> frozenset[str]:
        """All names that the file defines or imports."""
        return frozenset[str]().union(*(one.names for one in self.definitions))

    @cached_property
    def newline(self) -> str:
        """What ends the lines of the file."""
        return "\r\n" if "\r\n" in self.text else "\n"

    def line_of(self, definition: Definition) -> int:
        """Return the number of the line with the name of a definition."""
        return self.text.count("\n", 0, definition.named) + 1

    def dependencies(self, name: str, without: Collection[str] = ()) -> list[D_co]:
        """Return what defines `name`, and all of the file that this needs.

        Args:
            name: Where to start.
            without: Names that are not followed.
        """
        found, wanted = set[Definition](), [name]
        while wanted:
            name = wanted.pop()
            new = {one for one in self.definitions if name in one.names} - found
            wanted += {used for one in new for used in one.uses} - set(without)
            found |= new
        return [one for one in self.definitions if one in found]

    def imports_for(self, name: str, without: Collection[str] = ()) -> list[str]:
        """Return the imports that `name` needs, as they are written."""
        return [one.text for one in self.dependencies(name, without) if one.is_import]

    def counterparts(self, definition: Definition) -> list[D_co]:
        """Return what this file has in the place of a definition of the course.

        What was given may have been changed by the learner, and counts. What belongs
        to an answer has to be the same.
        """
        found = [one for name in definition.names for one in self.named(name)]
        if not definition.is_private:
            return found
        return [one for one in found if one.meaning == definition.meaning]

    def has(self, definition: Definition) -> bool:
        """Tell whether a definition of the course need not be brought."""
        is_given = not definition.is_private and definition.names & self.names
        return bool(is_given or self.counterparts(definition))

    def replaced(self, start: int, end: int, text: str) -> Self:
        """Return the file with other text in place of what is between two places."""
        inserted = text.replace("\n", self.newline)
        return self.parse(self.text[:start] + inserted + self.text[end:])

    def without(self, definition: Definition) -> Self:
        """Return the file without the lines of a definition, and those above it."""
        start = len(self.text[: definition.start].rstrip(" \t\r\n"))
        end = self.line_end(definition.end)
        return self.parse(self.text[:start] + self.text[end:])

    def line_end(self, at: int) -> int:
        """Return where a line ends."""
        rest = re.compile(r"[^\r\n]*").match(self.text, at)
        return rest.end() if rest else at

    @classmethod
    def emptied(cls, text: str, name: str) -> str:
        """Cut a definition down to nothing, in a file that cannot be parsed.

        If the mistake is in the definition, the file can be parsed afterwards. All
        other lines keep their numbers.
        """
        found = cls.outline(name).search(text)
        if not found:
            return text
        empty = cls.empty(name, found[0].count("\n"))
        return text[: found.start()] + empty + text[found.end() :]
