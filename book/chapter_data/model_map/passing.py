"""The prompt of the map on its way through one layer, and out of the last one."""

import functools
from dataclasses import dataclass
from typing import Any

import mlx.core as mx
import numpy as np

from tiny_llm_course.book.embedded import checkpoint, token_ids, tokens
from tiny_llm_ref.attention import causal_mask, scaled_dot_product_attention_grouped
from tiny_llm_ref.basics import linear, silu
from tiny_llm_ref.qwen2_week1 import (
    Qwen2MLP,
    Qwen2ModelWeek1,
    Qwen2MultiHeadAttention,
)

PROMPT = "Once upon a time, there"
LAYER = 1
"""The layer that the map shows, counted from 0. Its heads look at different words."""

CHANNELS = 16
"""How many of them a strip shows: the first ones, or those of the first head."""


@dataclass(frozen=True)
class Way:
    """What the prompt is at each place, one row of channels for each token.

    Attributes:
        states: L x any number of channels, by the name of the place.
        weights: The attention of the layer, H x L x L.
        logits: L x V, after the last layer.
    """

    states: dict[str, mx.array]
    weights: mx.array
    logits: mx.array

    def strip(self, name: str) -> dict[str, list[Any]]:
        """Return the first channels of each token, and how large its vector is."""
        values = rounded(self.states[name][:, :CHANNELS])
        return {"values": values, "sizes": self.sizes(name)}

    def sizes(self, name: str) -> list[float]:
        """Return the root mean square of each token's vector."""
        return rounded(mx.sqrt(mx.mean(mx.square(self.states[name]), axis=-1)))


@functools.cache
def model() -> Qwen2ModelWeek1:
    """Build the model of Week 1 on the embedded weights."""
    return Qwen2ModelWeek1(checkpoint().model)


def ids() -> list[int]:
    """Return the ids of the prompt."""
    return token_ids(PROMPT)


def shown(token: int) -> str:
    """Return the text of a token without the space before it."""
    return tokens([token])[0].strip()


def rounded(values: mx.array) -> list[Any]:
    """Round numbers to three digits, as many as a strip can show."""
    return np.vectorize(lambda one: float(f"{one:.3g}"))(np.array(values)).tolist()


@functools.cache
def on_the_way() -> Way:
    """Run the prompt through the model, and keep what it is at each place."""
    x = embedded = model().embedding(mx.array([ids()]))
    for layer in model().layers[:LAYER]:
        x = layer(x, mask="causal")
    shown_layer = model().layers[LAYER]
    normed = shown_layer.input_layernorm(x)
    inside, weights = _attend(shown_layer.attention, normed)
    h = x + inside["output"]
    normed_again = shown_layer.post_attention_layernorm(h)
    worked = _work(shown_layer.mlp, normed_again)
    y = last = h + worked["down"]
    for layer in model().layers[LAYER + 1 :]:
        last = layer(last, mask="causal")
    final = model().norm(last)
    states = {
        "embedded": embedded,
        "stream": x,
        "norm_1": normed,
        **inside,
        "h": h,
        "norm_2": normed_again,
        **worked,
        "y": y,
        "last": last,
        "final": final,
    }
    logits = model().embedding.as_linear(final)
    return Way({name: one[0] for name, one in states.items()}, weights, logits[0])


def _attend(
    attention: Qwen2MultiHeadAttention, x: mx.array
) -> tuple[dict[str, mx.array], mx.array]:
    """Return what is inside an attention layer, and its weights.

    Attention with the identity for values hands back its weights.
    """
    num_heads, num_kv_heads = attention.num_heads, attention.num_kv_heads
    query = mx.unflatten(linear(x, attention.wq, attention.bq), -1, (num_heads, -1))
    key = mx.unflatten(linear(x, attention.wk, attention.bk), -1, (num_kv_heads, -1))
    value = mx.unflatten(linear(x, attention.wv, attention.bv), -1, (num_kv_heads, -1))
    turned = [attention.rope(one) for one in (query, key)]
    length = x.shape[1]
    mask = causal_mask(length, length, mx.float32)
    each = mx.broadcast_to(mx.eye(length), (1, num_kv_heads, length, length))
    weights, heads = (
        scaled_dot_product_attention_grouped(
            *(one.swapaxes(1, 2) for one in turned), values, mask=mask
        )
        for values in (each, value.swapaxes(1, 2))
    )
    joined = mx.flatten(heads.swapaxes(1, 2), -2, -1)
    named = {"query": query, "key": key, "value": value}
    named |= {"turned_query": turned[0], "turned_key": turned[1]}
    first_heads = {name: one[:, :, 0] for name, one in named.items()}
    output = linear(joined, attention.wo)
    return first_heads | {"collected": joined, "output": output}, weights[0]


def _work(mlp: Qwen2MLP, x: mx.array) -> dict[str, mx.array]:
    """Return what is inside an MLP."""
    gate, up = linear(x, mlp.w_gate), linear(x, mlp.w_up)
    gated = silu(gate) * up
    return {"gate": gate, "up": up, "gated": gated, "down": linear(gated, mlp.w_down)}
