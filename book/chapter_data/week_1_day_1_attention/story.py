"""Where the heads of the embedded model look in a sentence."""

import functools
from collections.abc import Mapping

import mlx.core as mx
import numpy as np
from matplotlib.figure import Figure

from tiny_llm_course.book.diagrams import bare, cell
from tiny_llm_course.book.drawing import GRID, SERIES, Texts
from tiny_llm_course.book.embedded import checkpoint, token_ids, tokens
from tiny_llm_ref.attention import causal_mask, scaled_dot_product_attention_grouped
from tiny_llm_ref.basics import linear
from tiny_llm_ref.qwen2_week1 import Qwen2ModelWeek1

from .why_the_root import Floats

STORY = "Once upon a time, a fox met a cat."
LAYER = 1


@functools.cache
def _heads_of_the_story() -> tuple[list[str], Floats]:
    """Return the tokens of the story, and the weights H x L x L of a trained layer.

    Attention with the identity for values hands back its weights.
    """
    model = Qwen2ModelWeek1(checkpoint().model)
    ids = token_ids(STORY)
    x = model.embedding(mx.array([ids]))
    for layer in model.layers[:LAYER]:
        x = layer(x, mask="causal")
    heads, x = model.layers[LAYER].attention, model.layers[LAYER].input_layernorm(x)
    query = mx.unflatten(linear(x, heads.wq, heads.bq), -1, (heads.num_heads, -1))
    key = mx.unflatten(linear(x, heads.wk, heads.bk), -1, (heads.num_kv_heads, -1))
    weights = scaled_dot_product_attention_grouped(
        heads.rope(query).swapaxes(1, 2),
        heads.rope(key).swapaxes(1, 2),
        mx.broadcast_to(mx.eye(len(ids)), (1, heads.num_kv_heads, len(ids), len(ids))),
        mask=causal_mask(len(ids), len(ids), mx.float32),
    )
    words = [one.strip() for one in tokens(ids)]
    return words, np.array(weights[0], dtype=np.float64)


def story_at_a_glance() -> Mapping[str, float]:
    """Return a few of the weights that the drawing of the story shows."""
    tokens, weights = _heads_of_the_story()
    fox, cat = tokens.index("fox"), tokens.index("cat")
    return {
        "layer": LAYER + 1,
        "fox_to_comma": float(weights[1, fox, tokens.index(",")]),
        "fox_to_time": float(weights[2, fox, tokens.index("time")]),
        "cat_to_met": float(weights[1, cat, tokens.index("met")]),
        "cat_to_a": float(weights[3, cat, cat - 1]),
    }


def draw_trained_heads(text: Texts) -> Figure:
    """Draw where four heads of the embedded model look in a sentence."""
    tokens, weights = _heads_of_the_story()
    figure = Figure(figsize=(5, 5.2))
    for number, axes in enumerate(figure.subplots(2, 2).flat):
        for (i, j), weight in np.ndenumerate(weights[number]):
            shade = (SERIES[0], float(round(weight, 3)))
            cell(axes, (j, i), shade, side=0.94, ec=GRID, lw=0.4)
        middles = np.arange(len(tokens)) + 0.5
        axes.set(xlim=(0, len(tokens)), ylim=(len(tokens), 0), aspect="equal")
        axes.set_xticks(middles, tokens, rotation=90, size=8)
        axes.set_yticks(middles, tokens, size=8)
        bare(axes)
        axes.set_title(text["head"].format(number=number + 1))
    return figure
