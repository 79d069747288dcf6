"""Replaces parts of a text, and fails at once where it does not say what it should."""

from collections.abc import Sequence
from dataclasses import dataclass


class StaleRecordError(Exception):
    """The text has changed, and a record has not."""


@dataclass(frozen=True)
class Replacement:
    """Something that stands in a text, and what stands there instead.

    Attributes:
        old: What is replaced.
        new: By what.
        times: How often it stands there: no more, no less.
    """

    old: str
    new: str
    times: int = 1


def replacements(written: Sequence[str | int]) -> tuple[Replacement, ...]:
    """Read what a record lists: old, new, old, new. A number in front of two counts.

    Raises:
        StaleRecordError: Something has nothing to take its place.
    """
    found: list[Replacement] = []
    waiting = list(written)
    while waiting:
        times = int(waiting.pop(0)) if isinstance(waiting[0], int) else 1
        if len(waiting) < 2:
            raise StaleRecordError(f"a record: expected pairs of texts, got {written}")
        old, new = str(waiting.pop(0)), str(waiting.pop(0))
        # Of several lines the first is indented like the others, and so is the text.
        found.append(Replacement(old, new if old[0] == " " else new.lstrip(" "), times))
    return tuple(found)


def replaced(name: str, text: str, changes: Sequence[Replacement]) -> str:
    """Return a text with all of it replaced, one after the other.

    Args:
        name: Of the record.
        text: What it is about.
        changes: What it says.

    Raises:
        StaleRecordError: Something does not stand there as often as it should.
    """
    for one in changes:
        count = text.count(one.old)
        if count != one.times:
            raise StaleRecordError(
                f"{name}: expected {one.old!r} {one.times} times in the reference, "
                f"got {count}; change the record as the reference was changed"
            )
        text = text.replace(one.old, one.new)
    return text
