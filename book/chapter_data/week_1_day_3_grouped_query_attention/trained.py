"""What the mask and the biases do in the embedded model."""

import math

import mlx.core as mx
from matplotlib.figure import Figure

from tiny_llm_course.book.drawing import SERIES, Texts
from tiny_llm_course.book.embedded import (
    checkpoint,
    head_dim,
    sizes,
    token_ids,
    weights,
)
from tiny_llm_ref.attention import scaled_dot_product_attention_simple
from tiny_llm_ref.positional_encoding import RoPE
from tiny_llm_ref.qwen2_week1 import Qwen2ModelWeek1

SENTENCE = "The cat sat on a"


def change_of_a_prefix() -> dict[str, float]:
    """Append a fifth token, and see how far the outputs of the first four move."""
    model = Qwen2ModelWeek1(checkpoint().model)
    attention = model.layers[0].attention
    ids = mx.array([token_ids(SENTENCE)])
    assert ids.shape == (1, 5)
    x = model.layers[0].input_layernorm(model.embedding(ids))
    size = mx.abs(attention(x[:, :4], "causal")).max().item()

    def moved(mask: str | None) -> float:
        change = attention(x, mask)[:, :4] - attention(x[:, :4], mask)
        return mx.abs(change).max().item()

    return {"size": size, "causal": moved("causal"), "free": moved(None)}


def _bias_curves(layer: int, num_distances: int) -> list[list[float]]:
    """Return the score of the biases alone, for each query head and distance."""
    own, width = weights(f"model.layers.{layer}.self_attn."), head_dim()
    heads, kv_heads = sizes().num_attention_heads, sizes().num_key_value_heads
    query = own["q_proj.bias"].reshape(1, 1, heads, width)
    key = own["k_proj.bias"].reshape(1, 1, kv_heads, width)
    rope = RoPE(width, num_distances, sizes().rope_theta)
    turned = rope(mx.broadcast_to(query, (1, num_distances, heads, width)))[0]
    curves = [
        turned[:, head] @ key[0, 0, head * kv_heads // heads] / math.sqrt(width)
        for head in range(heads)
    ]
    return [curve.tolist() for curve in curves]


def bias_scores() -> dict[str, float]:
    """Return what the biases of one head add to near and to far keys."""
    curves = _bias_curves(0, 65)
    assert all(curve[0] > curve[16] > curve[64] for curve in curves)
    own = curves[3]
    return {"near": own[0], "far": own[64], "factor": math.exp(own[0] - own[64])}


def effect_of_the_key_bias() -> dict[str, float]:
    """Leave out the key bias, without rotation and with it; see what moves most."""
    rng = mx.random.key(3)
    query, key, bias = (
        mx.random.normal((5, head_dim()), key=one) for one in mx.random.split(rng, 3)
    )
    rope = RoPE(head_dim(), 5)

    def moved(*, rotated: bool) -> float:
        def shares(keys: mx.array) -> mx.array:
            """Return the weights of attention: what it collects from unit vectors."""
            both = [query, keys]
            if rotated:
                both = [rope(one[None, :, None])[0, :, 0] for one in both]
            return scaled_dot_product_attention_simple(*both, mx.eye(5))

        return mx.abs(shares(key + bias[:1]) - shares(key)).max().item()

    return {"plain": moved(rotated=False), "rotated": moved(rotated=True)}


def draw_biases(text: Texts) -> Figure:
    """Draw what the trained biases add to a score, by distance."""
    figure = Figure(figsize=(5, 2.6))
    axes = figure.subplots()
    curves = _bias_curves(0, 129)
    for head, curve in enumerate(curves):
        line = "-" if head < 2 else "--"
        axes.plot(
            curve, line, color=SERIES[head], label=text["head"].format(number=head)
        )
    axes.set(xlabel=text["x"], xlim=(0, 128))
    axes.set_ylabel(text["y"])
    axes.legend(ncols=2, fontsize=8)
    return figure
