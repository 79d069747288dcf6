"""The data of the first page: what the course counts."""

from tiny_llm_course.book.facts import counts


def numbers() -> dict[str, int]:
    """Return how large the course is."""
    return counts()
