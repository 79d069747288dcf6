"""What an error usually means: said when no known mistake explains it."""

import re

from tiny_llm_course.catalogue import lines, say
from tiny_llm_course.grading.verdict import RaisedEvidence


def describe(error: RaisedEvidence) -> str | None:
    """Say what is behind an error of Python or MLX, if it is one of the usual ones.

    Args:
        error: What a solution raised.
    """
    text = f"{error.kind}: {error.text}"
    for entry in lines("errors.patterns"):
        key, _, pattern = entry.partition(" ")
        if found := re.search(pattern, text, re.DOTALL):
            return say(f"errors.means.{key}", **found.groupdict())
    return None
