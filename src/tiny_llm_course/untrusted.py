"""Text that comes from somebody's code, made safe to print on a terminal."""

from tiny_llm_course.catalogue import say

MAX_LENGTH = 4000
"""Of one message, in characters: more than a screen, and less than a nuisance."""

MAX_ERROR_LENGTH = 1000
"""Of what an exception says, so that the lines that led to it are still shown."""


def visible(text: str, max_length: int = MAX_LENGTH) -> str:
    r"""Write control characters as escapes, and cut what is too long.

    A terminal obeys them: `\x1b[2J` would clear the screen.
    """
    shown = "".join(map(_visible, text[:max_length]))
    num_cut = len(text) - max_length
    return shown + say("grading.cut", number=num_cut) if num_cut > 0 else shown


def words_of(error: BaseException, max_length: int = MAX_ERROR_LENGTH) -> str:
    """Return what an exception says, even if asking it raises another one."""
    try:
        text = str(error)
    except Exception as raised:  # noqa: BLE001 - of the learner, shown
        return say("grading.speechless", error=type(raised).__name__)
    return visible(text, max_length)


def _visible(character: str) -> str:
    """Return a character that a terminal shows."""
    is_shown = character.isprintable() or character in "\n\t"
    return character if is_shown else ascii(character)[1:-1]
