"""Text in the cells of a terminal, where a Chinese character takes two.

All that is padded, aligned or folded on a terminal is measured here.
"""

import os
import re
import shutil
import sys
from collections.abc import Iterable, Iterator

from rich.cells import cell_len

USUAL = 80
"""The width that a terminal has at least, if nobody has made it narrow."""

_WIDE = (
    r"\u1100-\u115f\u2e80-\u3029\u3030-\ua4cf\uac00-\ud7a3\uf900-\ufaff\uff00-\uff60"
)
_CLOSING = (
    r"\u3001\u3002\u3009\u300b\u300d\u300f\u3011\uff01\uff09\uff0c\uff1a\uff1b\uff1f"
)
_OPENING = r"\u3008\u300a\u300c\u300e\u3010\uff08"
_UNSPACED = rf"\u3040-\u30ff\u3400-\u9fff{_OPENING}{_CLOSING}"
"""Characters that no space parts from each other: Han, kana, what stands beside them.

Korean and letters of full width have spaces."""

# These are compiled where they are used: it takes 6 ms, and few lines are folded.
_PIECE = rf"""(?x)\s+
    | [{_OPENING}\[(]*
      (?:
        [{_WIDE}]
        | (?:(?![{_WIDE}])\S)+?(?:(?<=[^\W\d]{{2}}-)(?=[^\W\d]{{2}})|(?=[\s{_WIDE}]|\Z))
      )
      [{_CLOSING}]*
"""
"""What stays on one line: a word, its part up to a hyphen, or a wide character.

What closes a sentence or a bracket stays with what is before it, and what opens a
bracket with what follows.
"""

_UNSPACED_BREAK = (
    rf"(?<=[{_UNSPACED}])\n(?=[{_UNSPACED}])|(?<=[{_CLOSING}])\n|\n(?=[{_OPENING}])"
)

_PROSE = rf"(?!.*( = |#))[^\s].*[{_UNSPACED}].*"
"""A line of Chinese that is no code: it is not indented, nor sets or comments."""


def pad(text: str, width: int) -> str:
    """Add spaces up to a width in cells."""
    return text + " " * (width - cell_len(text))


def widest(texts: Iterable[str]) -> int:
    """Return the width of the longest text in cells."""
    return max(map(cell_len, texts), default=0)


def column(texts: Iterable[str], beside: int) -> int:
    """Return the width of a column: of its longest text, if the terminal has room.

    Args:
        texts: What stands in the column.
        beside: The cells that all else in a row takes. Where they are missing, longer
            texts push it aside.
    """
    wanted, terminal = widest(texts), terminal_width() or USUAL
    return wanted if terminal >= USUAL else min(wanted, max(terminal - beside, 0))


def unfolded(text: str) -> str:
    """Return the lines of one paragraph as a single one.

    Between words stands a space where a line ended, between Chinese characters nothing.
    """
    lines = [" ".join(line.split()) for line in text.split("\n") if line.strip()]
    return re.sub(_UNSPACED_BREAK, "", "\n".join(lines)).replace("\n", " ")


def wrapped(text: str, width: int, first: str = "", rest: str = "") -> Iterator[str]:
    """Yield the lines of one paragraph.

    Args:
        text: The paragraph.
        width: The length of a line in cells, if no single word is longer.
        first: What the first line begins with.
        rest: What the others begin with.
    """
    line, is_empty = first, True
    for found in re.finditer(_PIECE, text):
        piece = found[0]
        if not is_empty and cell_len((line + piece).rstrip()) > width:
            yield line.rstrip()
            line, is_empty = rest, True
        if not (is_empty and piece.isspace()):
            line, is_empty = line + piece, False
    if not is_empty or text == "":
        yield line.rstrip()


def fitted(text: str, width: int | None = None) -> str:
    """Fold the lines that are longer than the terminal, each below its own beginning.

    Args:
        text: Several lines, written for a terminal of the usual width. They stay as
            they are where it has that.
        width: Of the terminal. None asks for it.
    """
    width = width or terminal_width()
    if width is None or width >= USUAL:
        return text
    return "\n".join(
        folded for line in _joined(text, width) for folded in _fold(line, width)
    )


def _joined(text: str, width: int) -> Iterator[str]:
    """Yield lines, of Chinese prose those together that would end raggedly if folded.

    A line that fits ends a paragraph, and so does one that looks like code: what
    would be moved there may have to be pasted.
    """
    together: list[str] = []
    for line in text.split("\n"):
        is_prose = bool(re.fullmatch(_PROSE, line))
        if together and not is_prose:
            yield unfolded("\n".join(together))
            together = []
        if not is_prose:
            yield line
            continue
        together.append(line)
        if cell_len(line) <= width:
            yield unfolded("\n".join(together)) if together[1:] else line
            together = []
    if together:
        yield unfolded("\n".join(together))


def _fold(line: str, width: int) -> Iterator[str]:
    """Yield the parts of one line."""
    if cell_len(line) <= width:
        yield line
        return
    indent = line[: len(line) - len(line.lstrip())]
    yield from wrapped(line.lstrip(), width, indent, indent)


def terminal_width() -> int | None:
    """Return the width of the terminal. None where the output goes elsewhere."""
    if sys.stdout.isatty() or os.environ.get("COLUMNS"):
        return shutil.get_terminal_size().columns
    return None
