"""Shortens what CMake and a compiler print to what a learner needs."""

import re
from collections.abc import Sequence
from pathlib import Path

_NOISE = re.compile(
    r"""\[\s*\d+[%/]             # how far it is
      | FAILED: | ninja: | g?make\b
      | \S*(\+\+|cc|clang)\S*\s-  # the command itself
      | \d+\s(warning|error)s?\sgenerated
      | In\sfile\sincluded\sfrom\s | \s+from\s
      | cc1plus: | compilation\sterminated
    """,
    re.VERBOSE,
)
NUM_LINES = 12
"""Half a screen of lines."""


def of_compiler(text: str, roots: Sequence[Path]) -> str:
    """Return the messages of a compiler, with paths relative to one of some folders."""
    lines = [line for line in text.splitlines() if not _NOISE.match(line)]
    said = "\n".join(lines).strip("\n")
    for root in roots:
        said = said.replace(f"{root}/", "")
    return said


def step_of(line: str) -> str:
    """Return a build step, such as "[2/5] matvec", if a line is one."""
    found = re.match(r"(\[\s*\d+[/%]\d*\]) Building.*?(?:unity_)?(\w+)\.\w+\.o\b", line)
    return f"{found[1]} {found[2].removesuffix('_cxx')}" if found else ""


def of_cmake(text: str) -> str:
    """Return what CMake complains of."""
    found = re.search(r"^CMake Error.*", text, re.MULTILINE | re.DOTALL)
    return (found.group() if found else text).strip()


def first_error(text: str) -> str:
    """Return the first error that a compiler reports, with the code that it shows."""
    lines = text.splitlines()
    starts = [
        at for at, line in enumerate(lines) if re.search(r"\berror\b", line, re.I)
    ]
    if not starts:
        return "\n".join(lines[:NUM_LINES])
    first = starts[0]
    shown = [lines[first]]
    for line in lines[first + 1 :]:
        if re.match(r"\s+\d*\s*\||\s+[\^~]", line) is None or len(shown) == NUM_LINES:
            break
        shown.append(line)
    return "\n".join(shown)
