"""The headers that a kernel is compiled and checked with, read by the compilers once.

Both compilers would read some 28,000 and 2,000 lines before the learner's own, which
takes most of their time. What they have understood they can store.
"""

import functools
import shutil
from collections.abc import Sequence
from importlib.metadata import version as version_of
from pathlib import Path

from tiny_llm_course.metal import cache
from tiny_llm_course.metal.cache import digest, made_once
from tiny_llm_course.metal.compiler import compile_, is_gcc, version

RUNTIME = Path(__file__).parents[2] / "metal_simulator"
LANGUAGE = RUNTIME / "language"
DIALECT = RUNTIME / "dialect"

PARSED_AS = (
    "-std=c++14", "-target", "x86_64-linux-gnu", "-nostdinc", "-fno-exceptions",
    "-fno-rtti", "-ferror-limit=0", "-w",
)  # fmt: skip
"""How clang reads a kernel to check it."""

_TO_BE_STORED = 0x10
"""`CXTranslationUnit_ForSerialization`, which the binding has no name for."""


@functools.cache
def texts(folder: Path, pattern: str = "*") -> tuple[str, ...]:
    """Return what is written in the files of a folder, in the order of their names."""
    files = sorted(path for path in folder.rglob(pattern) if path.is_file())
    return tuple(path.read_text(encoding="utf-8") for path in files)


def text_of_language() -> tuple[str, ...]:
    """Return all that a kernel includes."""
    return (*texts(LANGUAGE), (RUNTIME / "runtime.h").read_text(encoding="utf-8"))


def language(options: Sequence[str]) -> list[str]:
    """Return the options by which a kernel finds the headers of the language.

    GCC takes what it has stored of a header, if the options are the same, and reads
    the header itself if not. clang is given the header.

    Args:
        options: What the kernel is compiled with.
    """
    if not is_gcc():
        return [f"-I{LANGUAGE}"]

    def make(made: Path) -> None:
        made.mkdir()
        header = ["-x", "c++-header", str(LANGUAGE / "metal_stdlib")]
        # The warning is that it is compiled alone, which is meant here.
        compile_(made / "metal_stdlib.gch", [*header, *options, "-w"])

    key = digest([version(), *options, *text_of_language()])
    return [f"-I{made_once('language', key, make)}", f"-I{LANGUAGE}"]


def dialect() -> Path:
    """Return the headers that a kernel is checked with, as clang stores them.

    clang wants to find the files that it has read, unchanged, so it is given copies.
    """
    from clang.cindex import (  # pyright: ignore[reportMissingTypeStubs]
        Index,
        TranslationUnit,
    )

    parts = [version_of("libclang"), str(cache.CACHE), *PARSED_AS, *texts(DIALECT)]
    key = digest(parts)
    copies = made_once("headers", key, lambda made: shutil.copytree(DIALECT, made))

    def make(made: Path) -> None:
        unit = Index.create().parse(
            str(copies / "metal.h"),
            args=["-x", "c++-header", *PARSED_AS],
            options=TranslationUnit.PARSE_INCOMPLETE | _TO_BE_STORED,
        )
        unit.save(str(made))

    return made_once("dialect", key, make)
