"""Blocks and checkpoints that are small enough for the examples of known mistakes."""

from typing import Any

import mlx.core as mx
from mlx import nn

from tiny_llm_course.grading.scenarios.architecture import (
    Architecture,
    mlx_model,
    model_weights,
)

X = mx.array([[[3.0, 0, 1, 0], [0, 2.0, 0, 1]]])
"""Two tokens of width 4."""


def tiny(block: Any, **changes: Any) -> Any:  # noqa: ANN401 - a class of a solution
    """Build a block of width 4 with one head, an MLP of width 4, and plain weights.

    Args:
        block: The class.
        **changes: Arguments that are to be others.
    """
    eye, zeros = mx.eye(4), mx.zeros(4)
    weights = dict.fromkeys(("wq", "wk", "wv", "wo", "w_gate", "w_down"), eye)
    given = {
        "num_attention_heads": 1,
        "num_kv_heads": 1,
        "hidden_size": 4,
        "intermediate_size": 4,
        "rms_norm_eps": 1e-6,
        "max_seq_len": 64,
        "w_up": 2 * eye,
        "bq": zeros,
        "bk": zeros,
        "bv": zeros,
        "w_input_layernorm": mx.array([1.0, 1, 2, 2]),
        "w_post_attention_layernorm": mx.array([0.5, 0.5, 1, 1]),
    }
    return block(**{**given, **weights, **changes})


def checkpoint(bits: int | None = None, **changes: Any) -> Any:  # noqa: ANN401
    """Return what `mlx_lm` would load: two layers of width 32, and 50 tokens.

    Args:
        bits: Of a quantised weight, in groups of 32. None leaves them as they are.
        **changes: Sizes that are to be others.
    """
    sizes = Architecture(**{"intermediate_size": 64, **changes})
    model = mlx_model(sizes, model_weights(sizes, mx.float32))
    if bits:
        nn.quantize(model, group_size=32, bits=bits)
    return model


def examples() -> dict[str, Any]:
    """Return what the examples may call."""
    return {
        "tiny": tiny,
        "x": X,
        "checkpoint": checkpoint,
        "ids": mx.array([[3, 1, 4]]),
    }
