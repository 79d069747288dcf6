"""The words of a Metal source: enough of C++'s grammar to find one and replace it."""

import functools
import re
from dataclasses import dataclass

_TOKEN = re.compile(
    r"""
    (?P<space>     \s+ | \\\n | //[^\n]* | /\*.*?\*/ )
  | (?P<text>      "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*' )
  | (?P<include>   \#[ \t]*include[^\n]* )
  | (?P<number>    \.?[0-9](?:[eEpP][+-]|'[0-9a-zA-Z]|[.\w])* )
  | (?P<word>      [A-Za-z_]\w* )
  | (?P<mark>      ->\*? | <<=? | >>= | [-+*/%&|^=!<>]= | && | \|\| | \+\+ | -- | ::
                 | \#\# | \.\.\. | . )
    """,
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True)
class Token:
    """A word, number, text or mark, and where it stands.

    Args:
        kind: `word`, `number`, `text`, `include` or `mark`.
        text: As written.
        start: Its first character, counted from the source's.
    """

    kind: str
    text: str
    start: int

    @property
    def end(self) -> int:
        """The place behind its last character."""
        return self.start + len(self.text)


@functools.lru_cache
def tokens_of(source: str) -> tuple[Token, ...]:
    """Split a source into its tokens, without space and comments.

    Every call of a kernel reads its source, and several readers do.
    """
    return tuple(
        Token(str(found.lastgroup), found.group(), found.start())
        for found in _TOKEN.finditer(source)
        if found.lastgroup != "space"
    )


def line_of(source: str, place: int) -> int:
    """Return the number of the line that holds a place, from 1 on."""
    return source.count("\n", 0, place) + 1


@dataclass(frozen=True)
class Edit:
    """What stands in a source from `start` to `end` becomes `text`."""

    start: int
    end: int
    text: str


def apply(source: str, edits: list[Edit]) -> str:
    """Make all edits. Those of one place are made in the order given.

    No line moves: an edit that takes line ends away puts them behind its text.
    """
    pieces: list[str] = []
    done = 0
    for edit in sorted(edits, key=lambda edit: edit.start):
        taken = source[edit.start : edit.end].count("\n") - edit.text.count("\n")
        pieces += [source[done : edit.start], edit.text, "\n" * taken]
        done = edit.end
    return "".join([*pieces, source[done:]])


def place_before(edits: list[Edit], place: int) -> int:
    """Return where something in an edited text stood before the edits."""
    moved = 0
    for edit in sorted(edits, key=lambda edit: edit.start):
        if edit.start + moved >= place:
            break
        moved += len(edit.text) - (edit.end - edit.start)
    return place - moved
