"""The optional layers: that of 2017 by hand, and one token through four gates."""

import math
from typing import Any

import mlx.core as mx

from tiny_llm_ref.activations import gelu, gelu_tanh, relu
from tiny_llm_ref.basics import linear, silu
from tiny_llm_ref.feed_forward import FeedForward, GatedFeedForward

from .writing import listed

TOKEN = mx.array([2.0, -1.0])
W_GATE = mx.array([[1.0, 0.0], [0.0, 1.0], [1.0, 2.0]])
W_UP = mx.array([[1.0, 1.0], [1.0, 0.0], [1.0, -1.0]])
W_DOWN = mx.array([[1.0, 1.0, 0.0], [0.0, 2.0, 1.0]])
GATES = {"glu": mx.sigmoid, "reglu": relu, "geglu": gelu, "swiglu": silu}


def family_by_hand() -> dict[str, Any]:
    """Take the token of the chapter through the layers of its optional task."""
    b1, b2 = mx.array([0.0, 2.0, -1.0]), mx.array([-1.0, 0.0])
    layer = FeedForward(W_GATE, b1, W_DOWN, b2, relu)
    inner = linear(TOKEN, W_GATE, b1)
    late = relu(linear(TOKEN, W_GATE)) + b1
    places = mx.array([-3.0, 3.0])
    return {
        "ffn_b1": listed(b1),
        "ffn_b2": listed(b2),
        "ffn_inner": listed(inner),
        "ffn_relu": listed(relu(inner)),
        "ffn_result": listed(layer(TOKEN)),
        "ffn_late": listed(linear(late, W_DOWN, b2)),
        "gated": {
            name: listed(GatedFeedForward(W_GATE, W_UP, W_DOWN, gate)(TOKEN), 3)
            for name, gate in GATES.items()
        },
        "gelu_at_3": listed(gelu(places), 5, fixed=True),
        "gelu_tanh_at_3": listed(gelu_tanh(places), 5, fixed=True),
        "cube_overflows": f"{math.floor(65504 ** (1 / 3))}",
    }
