"""Week 2, day 6: a softmax that is corrected on the way, tiles, and pieces."""

from typing import Any

from tiny_llm_course.book.drawing import Drawing

from . import neighbour
from .by_hand import eight_keys, in_pieces, one_by_one
from .counting import LAYERS, sizes, tiles
from .measured import times_ms
from .pictures import draw_pieces, draw_tiles
from .registers import draw_exponentials, draw_rows, draw_tile, draw_value


def numbers() -> dict[str, Any]:
    """Return the numbers of the text."""
    return {
        "steps": one_by_one(),
        "pieces": in_pieces(),
        "layers": LAYERS,
        "sizes": sizes(),
        "tiles": tiles(),
        "near": neighbour.numbers(),
        "times": times_ms(),
    }


def drawings() -> dict[str, Drawing]:
    """Return what registers hold, the tiles of a prompt, and the pieces of a cache."""
    return {
        "tile": draw_tile,
        "exponentials": draw_exponentials,
        "rows": draw_rows,
        "value": draw_value,
        "tiles": draw_tiles,
        "pieces": draw_pieces,
    }


def data() -> dict[str, Any]:
    """Return the keys that the interactive figure starts from."""
    return {"online-softmax": eight_keys()}
