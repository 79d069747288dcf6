"""A layer that is small enough to be read, for the examples of known mistakes."""

from typing import Any

import mlx.core as mx

TOKENS = mx.array([[[1.0, 0, 2, 0], [0, 2.0, 0, 1], [3.0, 1, 0, 0]]])
"""Three tokens of width 4."""


def tiny(attention: Any, **changes: Any) -> Any:  # noqa: ANN401 - a class of a solution
    """Build a layer of width 4: two query heads that share one key/value head.

    Args:
        attention: The class.
        **changes: Arguments that are to be others.
    """
    eye = mx.eye(4)
    weights = {"wq": eye, "wk": eye[:2], "wv": eye[2:], "wo": eye}
    biases = {"bq": mx.zeros(4), "bk": mx.zeros(2), "bv": mx.zeros(2)}
    return attention(4, 2, 1, **{**weights, **biases, "max_seq_len": 128, **changes})


def examples() -> dict[str, Any]:
    """Return what the examples may call."""
    return {"tiny": tiny, "tokens": TOKENS}
