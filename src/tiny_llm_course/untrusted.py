"""Text from untrusted code, made safe to print on a terminal."""

import re

from tiny_llm_course.catalogue import say

MAX_LENGTH = 4000
"""Limit for one message, in characters: more than a screen."""

MAX_ERROR_LENGTH = 1000
"""Limit for an exception's text, so that its traceback still fits."""

_SPECIAL = re.compile(r"[^ -~\n\t]")
"""What has to be looked at: all but the usual characters of ASCII."""


def visible(text: str, max_length: int = MAX_LENGTH) -> str:
    r"""Write control characters as escapes, and truncate long text.

    A terminal would execute them: `\x1b[2J` would clear the screen.
    """
    shown = _SPECIAL.sub(lambda found: _visible(found[0]), text[:max_length])
    num_cut = len(text) - max_length
    return shown + say("grading.cut", number=num_cut) if num_cut > 0 else shown


def words_of(error: BaseException, max_length: int = MAX_ERROR_LENGTH) -> str:
    """Return the text of an exception, even if its `__str__` raises."""
    try:
        text = str(error)
    except Exception as raised:  # noqa: BLE001 - of the learner, shown
        return say("grading.speechless", error=type(raised).__name__)
    return visible(text, max_length)


def _visible(character: str) -> str:
    return character if character.isprintable() else ascii(character)[1:-1]
