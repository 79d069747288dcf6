"""Lets clang read a kernel, with the headers of `src/metal_simulator/dialect`.

The template's parameters are declarations before the kernel, so that the tree knows all
types. No line of the learner's moves, and each place can be found again.
"""

from dataclasses import dataclass

from clang.cindex import (  # pyright: ignore[reportMissingTypeStubs]
    Cursor,
    Index,
    TranslationUnit,
)

from tiny_llm_course.metal.headers import PARSED_AS, dialect
from tiny_llm_course.metal.rewriting import check_edits
from tiny_llm_course.metal.signature import HEADER_FILE, SOURCE_FILE, Assembled
from tiny_llm_course.metal.tokens import Edit, apply, place_before

CHECKED_FILE = "check.metal"


@dataclass(frozen=True)
class Part:
    """A file of the learner's within the text that is parsed.

    Args:
        file: Its name.
        edits: What was changed in it.
        start: Its first character.
        end: The place behind its last.
        first_line: Its first line.
        num_lines: How many it has.
    """

    file: str
    edits: list[Edit]
    start: int
    end: int
    first_line: int
    num_lines: int


@dataclass(frozen=True)
class Parsed:
    """A kernel as clang sees it.

    Args:
        unit: Its tree and what clang says of it.
        text: What was parsed.
        parts: The learner's files in it: the header, then the body.
    """

    unit: TranslationUnit
    text: str
    parts: list[Part]

    @property
    def declarations(self) -> list[Cursor]:
        """What the learner's files declare, the kernel last."""
        assert self.unit.cursor is not None
        children = list(self.unit.cursor.get_children())
        files = [child.location.file for child in children]
        return [
            child
            for child, file in zip(children, files, strict=True)
            if file is not None and file.name == CHECKED_FILE
        ]

    def place(self, line: int) -> tuple[str, int] | None:
        """Return the learner's file and line that a line of the text comes from."""
        for part in self.parts:
            if part.first_line <= line < part.first_line + part.num_lines:
                return part.file, line - part.first_line + 1
        # A brace too many or too few is noticed behind the end.
        last = self.parts[-1]
        return (last.file, last.num_lines) if line >= last.first_line else None

    def origin(self, start: int, end: int) -> tuple[str, int, int] | None:
        """Return the learner's file and the places there of a piece of the text."""
        for part in self.parts:
            if part.start <= start <= end <= part.end:
                first = place_before(part.edits, start - part.start)
                return part.file, first, place_before(part.edits, end - part.start)
        return None


def parse(assembled: Assembled) -> Parsed:
    """Parse a kernel."""
    text, parts = _text_of(assembled)
    unit = Index.create().parse(
        CHECKED_FILE,
        args=["-x", "c++", *PARSED_AS, "-include-pch", str(dialect())],
        unsaved_files=[(CHECKED_FILE, text)],
    )
    return Parsed(unit, text, parts)


def _text_of(assembled: Assembled) -> tuple[str, list[Part]]:
    """Write what is parsed, and remember where the learner's files are in it."""
    kernel = assembled.kernel
    text = ""
    parts: list[Part] = []

    def with_part(file: str, source: str) -> str:
        edits = check_edits(source)
        # Places in clang's tree are counted in bytes: here each character is one.
        own = apply(source, edits).encode("ascii", "replace").decode()
        start, lines = len(text), text.count("\n")
        size = (len(own), own.count("\n") + 1)
        parts.append(Part(file, edits, start, start + size[0], lines + 1, size[1]))
        return f"{text}{own}\n"

    text = with_part(HEADER_FILE, kernel.header)
    head = f"void custom_kernel_{kernel.name}({assembled.arguments}) {{"
    text += "\n".join([*assembled.given, head, ""])
    text = with_part(SOURCE_FILE, kernel.source)
    return f"{text}}}\n", parts
