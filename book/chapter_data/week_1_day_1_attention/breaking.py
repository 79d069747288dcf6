"""The model's story, when softmax or attention is changed in one place."""

from tiny_llm_course.book.hearing import Change, heard

PAGE = "week-1-day-1-attention"

CHANGES = {
    "not_scaled": Change(
        "attention", "key.swapaxes(-2, -1)) * scale", "key.swapaxes(-2, -1))"
    ),
    "over_the_queries": Change(
        "attention", "softmax(scores, axis=-1) @", "softmax(scores, axis=-2) @"
    ),
    "maximum_not_subtracted": Change(
        "basics", " - mx.max(wide, axis=axis, keepdims=True)", ""
    ),
}


def told() -> dict[str, str]:
    """Return the stories, by the name of the change."""
    return heard(PAGE, CHANGES)
