"""What is wrong with a checkpoint."""

from pathlib import Path

from tiny_llm_course.catalogue import say
from tiny_llm_course.errors import CourseError

SHOWN = 120
"""At most this many characters of a file's content appear in a message."""


class CheckpointError(CourseError, ValueError):
    """A checkpoint cannot be used. Code sees a ValueError, a learner one line."""


def unexpected(path: Path, name: str, wanted: object, found: object) -> CheckpointError:
    """Return the error for an entry of a file that is not as expected."""
    names = {"path": path, "name": name, "wanted": wanted, "got": shown(found)}
    return CheckpointError(say("checkpoint.unexpected", **names))


def shown(found: object) -> str:
    """Write a value from a file as plain text that fits on a line."""
    return _cut(repr(found))


def plain(text: str) -> str:
    """Write untrusted text as `shown` does, but without quotes."""
    return _cut(repr(text)[1:-1])


def _cut(text: str) -> str:
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."
