"""Day 5: a block on two channels, the stream of a real prompt, and all the weights."""

from typing import Any

from tiny_llm_course.book.drawing import Drawing
from tiny_llm_course.book.embedded import checkpoint

from .breaking import told
from .by_hand import toy_block, toy_table
from .counting import (
    GROUP_SIZE,
    QWEN2,
    checkpoint_file,
    counts_by_hand,
    first_layer,
    growth,
    measured,
    plain,
    presets,
    quantised,
    written,
)
from .examples import examples as examples
from .pictures import draw_model
from .stream import choice, draw_stream, lens_numbers, share_of_own_rows


def numbers() -> dict[str, Any]:
    """Return what the text quotes."""
    return {
        "toy": toy_block(),
        "table": toy_table(),
        "lens": lens_numbers(),
        "choice": choice(),
        "own_row": share_of_own_rows(),
        "ours": checkpoint().config,
        "file": checkpoint_file(),
        "shape": {key: written(weight) for key, weight in first_layer().items()},
        "count": counts_by_hand(),
        "total": {plain(name): measured(one) for name, one in presets().items()},
        "all_kv": growth("qwen2-0.5b", kv=14),
        "untied": {plain(name): growth(name, tied=False) for name in QWEN2},
        "quantised": quantised(),
        "told": told(),
    }


def drawings() -> dict[str, Drawing]:
    """Return the model with its shapes, and what its stream says on the way."""
    return {
        "model": draw_model,
        "stream": draw_stream,
    }


def data() -> dict[str, Any]:
    """Return the sizes of the models that the interactive figure starts from."""
    return {"where-the-parameters-are": {"presets": presets(), "group": GROUP_SIZE}}
