"""From places in a compiled kernel to lines of its source.

The compiler's debug information knows them, and a program of the system reads it. That
takes some 10 ms, so it is asked only when there is something to tell.
"""

import re
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tiny_llm_course.metal.signature import HEADER_FILE, SOURCE_FILE


@dataclass(frozen=True)
class Line:
    """A line of what the learner has written.

    Args:
        file: `kernel.metal` or `header.metal`.
        number: From 1 on.
    """

    file: str
    number: int


def lines_of(library: Path, places: Iterable[int]) -> dict[int, Line]:
    """Return the line of each place, as far as it is known.

    A place in a function of the language, which was inlined, belongs to the line that
    calls it.
    """
    wanted = sorted(set(places) - {0})
    if not wanted:
        return {}
    found: dict[int, Line] = {}
    for place, frames in zip(wanted, _frames(library, wanted), strict=True):
        own = re.search(rf"\b({SOURCE_FILE}|{HEADER_FILE}):(\d+)", frames)
        if own:
            found[place] = Line(own[1], int(own[2]))
    return found


def _frames(library: Path, places: list[int]) -> list[str]:
    """Return what a program says of each place: innermost function first."""
    addresses = [hex(place) for place in places]
    if shutil.which("addr2line"):
        said = _said(["addr2line", "-a", "-i", "-e", str(library), *addresses])
        return re.split(r"^0x\w+\n", said, flags=re.M)[1:]
    said = _said(["atos", "-i", "-l", "0", "-o", str(library), *addresses])
    return said.strip("\n").split("\n\n")


def _said(command: list[str]) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout
