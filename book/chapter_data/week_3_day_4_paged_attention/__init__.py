"""Week 3, day 4: where a key lies, what a tile is made of, and what pages cost."""

from typing import Any

from tiny_llm_course.book.drawing import Drawing

from .by_hand import OTHER, ROW, found
from .measured import times
from .pictures import draw_tile, draw_units


def numbers() -> dict[str, Any]:
    """Return the numbers of the text."""
    return {"found": found(), "times": times()}


def drawings() -> dict[str, Drawing]:
    """Return a tile that lies in several pages, and how rows are cut."""
    return {"tile": draw_tile, "units": draw_units}


def data() -> dict[str, Any]:
    """Return the pool that the interactive figure starts from."""
    return {"paged-keys": {**ROW, "other": OTHER}}
