"""A learner's mistake at the terminal, reported in one line."""

import difflib
from collections.abc import Iterable

from tiny_llm_course.catalogue import say


class CourseError(Exception):
    """A mistake of the person at the terminal: one line on stderr, exit code 2."""


def nearest(name: str, known: Iterable[str]) -> str:
    """Suggest the known name closest to `name`, as the last clause of an error.

    Returns:
        `"; did you mean 'week1'?"`, or an empty string when nothing is close.
    """
    close = difflib.get_close_matches(name, list(known), n=1)
    return say("commands.close", name=close[0]) if close else ""
