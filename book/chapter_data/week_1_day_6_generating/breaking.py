"""The model's answer, when the loop is changed in one place."""

from tiny_llm_course.book.hearing import Change, heard
from tiny_llm_course.inference.engine import Settings

from .loop import QUESTION

PAGE = "week-1-day-6-generating"

CHANGES = {
    "one_too_early": Change("generate", "[:, -1, :]", "[:, -2, :]"),
    "only_the_newest": Change("generate", "mx.array([ids])", "mx.array([ids[-1:]])"),
    "end_ignored": Change(
        "generate",
        "            break\n        ids.append(token)",
        "            pass\n        ids.append(token)",
    ),
}


def told() -> dict[str, str]:
    """Return the answers, by the name of the change."""
    return heard(PAGE, CHANGES, Settings(temp=0, max_tokens=40), QUESTION)
