"""A pool that is small enough to be read by eye."""

from typing import Any

PAGE_SIZE, NUM_PAGES = 4, 6
TABLE = (4, 1, 3)

ROW: dict[str, Any] = {
    "pages": NUM_PAGES,
    "page_size": PAGE_SIZE,
    "table": TABLE,
    "tokens": 6,
    "scores": (1, 3, 2, 4, 2, 0, 5, 3, 1, 2, 4, 0),
    "values": (10, 20, 30, 40, 30, 20, 60, 50, 10, 40, 20, 30),
    "old": {"score": 3, "value": 90},
}
"""The text that the query belongs to, and what was left behind by others."""

OTHER: dict[str, Any] = {
    "table": (0, 5),
    "scores": (2, 1, 3, 0, 4, 2, 1),
    "values": (75, 80, 85, 70, 95, 65, 88),
}
"""Another text in the same pool."""


def found() -> list[dict[str, int]]:
    """Find four keys of the text."""
    return [
        {
            "key": key,
            "place": key // PAGE_SIZE,
            "page": TABLE[key // PAGE_SIZE],
            "slot": key % PAGE_SIZE,
        }
        for key in (0, 3, 4, 10)
    ]
