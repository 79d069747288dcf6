"""Week 2, day 6: a softmax that is corrected on the way, tiles, and pieces."""

from typing import Any

from matplotlib.figure import Figure

from tiny_llm_course.book.drawing import style

from .by_hand import eight_keys, in_pieces, one_by_one
from .counting import sizes, tiles
from .measured import times_ms
from .pictures import draw_pieces, draw_tiles


def numbers() -> dict[str, Any]:
    """Return the numbers of the text."""
    return {
        "steps": one_by_one(),
        "pieces": in_pieces(),
        "sizes": sizes(),
        "tiles": tiles(),
        "times": times_ms(),
    }


def drawings() -> dict[str, Figure]:
    """Draw the tiles of a prompt, and the pieces of a cache."""
    with style():
        return {"tiles": draw_tiles(), "pieces": draw_pieces()}


def data() -> dict[str, Any]:
    """Return the keys that the interactive figure starts from."""
    return {"online-softmax": eight_keys()}
