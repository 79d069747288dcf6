"""The gated MLP: a small one by hand, and the widths of large ones."""

import math
from typing import Any

import mlx.core as mx

from tiny_llm_course.book.embedded import sizes
from tiny_llm_ref.basics import linear, silu
from tiny_llm_ref.qwen2_week1 import Qwen2MLP

from .writing import listed


def mlp_by_hand() -> dict[str, Any]:
    """Take one vector through a small MLP, step by step."""
    x = mx.array([2.0, -1.0])
    w_gate = mx.array([[1.0, 0.0], [0.0, 1.0], [1.0, 2.0]])
    w_up = mx.array([[1.0, 1.0], [1.0, 0.0], [1.0, -1.0]])
    w_down = mx.array([[1.0, 1.0, 0.0], [0.0, 2.0, 1.0]])
    gate, up = linear(x, w_gate), linear(x, w_up)
    mlp = Qwen2MLP(2, 3, w_gate, w_up, w_down)
    result = mlp(x[None])[0]
    swapped = Qwen2MLP(2, 3, w_up, w_gate, w_down)(x[None])[0]
    return {
        "mlp_gate": listed(gate),
        "mlp_up": listed(up),
        "mlp_silu": listed(silu(gate), 3, fixed=True),
        "mlp_product": listed(silu(gate) * up, 3, fixed=True),
        "mlp_result": listed(result, 3, fixed=True),
        "mlp_swapped": listed(swapped, 3, fixed=True),
    }


def widths() -> dict[str, Any]:
    """Count parameters, and work out the width that two thirds of 4 E give."""
    models = {
        "ours": (sizes().hidden_size, sizes().intermediate_size),
        "half_b": (896, 4864),
        "one_half_b": (1536, 8960),
        "seven_b": (3584, 18944),
        "llama": (4096, 11008),
    }
    attention = 2 * 896 * 896 + 2 * 128 * 896 + 896 + 2 * 128
    mlp = 3 * 896 * 4864
    return {
        "width": {name: _width(*pair) for name, pair in models.items()},
        "worked": _width(512, 1408),
        "old_count": 2 * 512 * 2048,
        "new_count": 3 * 512 * 1408,
        "llama_multiple": 256 * math.ceil(8 * 4096 / 3 / 256),
        "mlp_count": f"{mlp:,}",
        "attention_count": f"{attention:,}",
        "mlp_share": f"{100 * mlp / (mlp + attention + 2 * 896):.0f}",
        "num_biases": f"{2 * 4864 + 896:,}",
        "num_norms": 2 * 24 + 1,
        "bias_share": f"{100 * (2 * 4864 + 896) / mlp:.2f}",
    }


def _width(hidden: int, intermediate: int) -> dict[str, Any]:
    """Return what there is to say about the width of one MLP."""
    return {
        "hidden": hidden,
        "intermediate": intermediate,
        "ratio": f"{intermediate / hidden:.2f}",
        "two_thirds": f"{8 * hidden / 3:.1f}",
        "rounded": 64 * math.ceil(8 * hidden / 3 / 64),
        "tiles": f"{intermediate / 64:g}",
    }
