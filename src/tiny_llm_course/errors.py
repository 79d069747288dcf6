"""A learner's mistake at the terminal, reported in one line."""

import difflib
from collections.abc import Iterable


class CourseError(Exception):
    """A mistake of the person at the terminal: one line on stderr, exit code 2."""


def nearest(name: str, known: Iterable[str]) -> str:
    """Suggest the known name closest to `name`, as the last clause of an error.

    Returns:
        `"; did you mean 'week1'?"`, or an empty string when nothing is close.
    """
    close = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""
