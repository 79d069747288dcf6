"""Compiles a kernel, or says why it is refused.

Two look at it: the check of the dialect, which knows what Metal has not, and the
compiler for C++. What has been compiled once is not looked at again.
"""

import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path

from tiny_llm_course.catalogue import say
from tiny_llm_course.errors import CourseError
from tiny_llm_course.metal import compiling
from tiny_llm_course.metal.compiler import CompileError
from tiny_llm_course.metal.faults import NOTHING, Fault, Side, fault_of
from tiny_llm_course.metal.signature import HEADER_FILE, SOURCE_FILE, Assembled
from tiny_llm_course.metal.tokens import line_of, tokens_of

_QUOTES = {"\u201c": '"', "\u201d": '"', "\u2018": "'", "\u2019": "'", "\u3002": "."}

_ERROR = re.compile(
    rf"^(?P<file>{SOURCE_FILE}|{HEADER_FILE}):(?P<line>\d+):\d+: error: (?P<said>.*)$",
    re.MULTILINE,
)


class Refused(Exception):
    """A kernel cannot be compiled.

    Args:
        faults: Why.
    """

    def __init__(self, faults: tuple[Fault, ...]) -> None:
        super().__init__(faults[0].sentence)
        self.faults = faults


def library_of(assembled: Assembled) -> Path:
    """Return the compiled kernel.

    Raises:
        Refused: It is not Metal, or the compiler finds an error.
        CourseError: Compilers are missing.
    """
    if (library := compiling.known_library(assembled.text)) is not None:
        return library
    try:
        from tiny_llm_course.metal import dialect
    except ModuleNotFoundError as error:
        raise CourseError(say("extension.no_package", name="libclang")) from error

    if wide := _wide(assembled):
        raise Refused(wide)
    found = [
        Fault(
            "write_to_constant" if one.kind == "const" else "language",
            one.sentence,
            _side(assembled, one.file, one.line),
        )
        for one in dialect.check(assembled)
    ]
    if found:
        raise Refused(tuple(found))
    try:
        return compiling.kernel_library(assembled.text)
    except CompileError as error:
        faults = tuple(_said(assembled, error.said))
        assert faults, error.said  # noqa: PT017 - the caught error is only quoted
        raise Refused(faults) from error


def _wide(assembled: Assembled) -> tuple[Fault, ...]:
    """Name the marks of Chinese keyboards: the compiler would name the line below."""
    kernel = assembled.kernel
    texts = {HEADER_FILE: kernel.header, SOURCE_FILE: kernel.source}
    return tuple(
        fault_of(
            "language",
            _side(assembled, file, line_of(text, one.start)),
            None,
            NOTHING,
            say("metal.wide", wide=one.text, narrow=narrow),
        )
        for file, text in texts.items()
        for one in tokens_of(text)
        if (narrow := unicodedata.normalize("NFKC", one.text)) != one.text
        or (narrow := _QUOTES.get(one.text, ""))
    )


def _said(assembled: Assembled, said: str) -> Iterator[Fault]:
    """Yield what the compiler for C++ has found in the learner's lines."""
    for error in _ERROR.finditer(said):
        side = _side(assembled, error["file"], int(error["line"]))
        said = re.sub(r" \[-W.*\]$", "", error["said"])
        yield fault_of(_kind(said), side, None, NOTHING, said)


def _kind(said: str) -> str:
    """Return what a message of the compiler means for a learner."""
    if "is used uninitialized" in said:
        return "uninitialised_read"
    return "write_to_constant" if "read-only" in said else "language"


def _side(assembled: Assembled, file: str, number: int) -> Side:
    kernel = assembled.kernel
    lines = (kernel.header if file == HEADER_FILE else kernel.source).splitlines()
    return Side(file, number, lines[number - 1] if number <= len(lines) else "")
