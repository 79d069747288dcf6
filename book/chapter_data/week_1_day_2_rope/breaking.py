"""The model's story, when the rotation is changed in one place."""

from tiny_llm_course.book.hearing import Change, heard

PAGE = "week-1-day-2-rope"

CHANGES = {
    "backwards": Change(
        "positional_encoding",
        "a * cos - b * sin, b * cos + a * sin",
        "a * cos + b * sin, b * cos - a * sin",
    ),
    "offset_ignored": Change(
        "positional_encoding",
        "offset if isinstance(offset, list) else [offset or slice(0, L)]",
        "[slice(0, L)]",
    ),
    "from_1": Change(
        "positional_encoding",
        "angles = mx.arange(seq_len, ",
        "angles = mx.arange(1, seq_len + 1, ",
    ),
}


def told() -> dict[str, str]:
    """Return the stories, by the name of the change."""
    return heard(PAGE, CHANGES)
