"""Day 3: grouped heads, what they save, the causal mask, and the biases."""

from typing import Any

from tiny_llm_course.book.drawing import Drawing
from tiny_llm_course.book.embedded import head_dim, sizes

from .by_hand import worked_heads, worked_mask
from .counts import BYTES, QWEN2, cache, copies, models, num_parameters, ours
from .examples import examples as examples
from .pictures import draw_layer, draw_masks, draw_three_ways
from .trained import (
    bias_scores,
    change_of_a_prefix,
    draw_biases,
    effect_of_the_key_bias,
)


def numbers() -> dict[str, Any]:
    """Return the numbers of the text."""
    return {
        "ours": ours(),
        "qwen2": models(),
        "cache": cache(),
        "weights_mb": num_parameters() * BYTES / 1e6,
        "copies": copies(),
        "worked": worked_heads(),
        "masked": worked_mask(),
        "prefix": change_of_a_prefix(),
        "biases": bias_scores(),
        "key_bias": effect_of_the_key_bias(),
    }


def data() -> dict[str, Any]:
    """Return what the interactive figure starts from."""
    own = sizes()
    heads = (own.num_attention_heads, own.num_key_value_heads)
    embedded = (own.num_hidden_layers, *heads, head_dim())
    shown = {"embedded": embedded} | {n: s for n, s in QWEN2.items() if s[1] <= 28}
    names = ("layers", "heads", "kvHeads", "headDim")
    return {
        "grouped-heads": {
            "bytes": BYTES,
            "models": [
                {"name": name, **dict(zip(names, known, strict=True))}
                for name, known in shown.items()
            ],
        }
    }


def drawings() -> dict[str, Drawing]:
    """Return the figures of the text."""
    return {
        "three-ways": draw_three_ways,
        "masks": draw_masks,
        "layer": draw_layer,
        "biases": draw_biases,
    }
