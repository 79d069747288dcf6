"""What is wrong with a checkpoint."""

from pathlib import Path

from tiny_llm_course.errors import CourseError

SHOWN = 120
"""Characters of what a file holds that a message repeats."""


class CheckpointError(CourseError, ValueError):
    """A checkpoint of no use: a ValueError to code, one line to a person."""


def unexpected(path: Path, name: str, wanted: object, found: object) -> CheckpointError:
    """Say which entry of a file is not what it has to be."""
    return CheckpointError(
        f"{path}: expected {name} to be {wanted}, got {shown(found)}"
    )


def shown(found: object) -> str:
    """Write what a file holds so that it fits a line, with nothing but plain text."""
    return _cut(repr(found))


def plain(text: str) -> str:
    """Write a text of others in the same way, without quotes around it."""
    return _cut(repr(text)[1:-1])


def _cut(text: str) -> str:
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."
