"""A block on two channels, and a table of three, in numbers to redo by hand."""

from typing import Any

import mlx.core as mx

from tiny_llm_ref.embedding import Embedding
from tiny_llm_ref.layer_norm import RMSNorm


def toy_block() -> dict[str, Any]:
    """Run a block whose parts are 2 x 2 matrices, and what it does to 10 x."""
    norm = RMSNorm(2, mx.ones(2), eps=0)
    attention = mx.array([[-5.0, 5.0], [0.0, 0.0]])
    mlp = mx.array([[0.0, 0.0], [1.0, 1.0]])

    def run(x: mx.array) -> dict[str, list[float]]:
        first = attention @ norm(x)
        h = x + first
        second = mlp @ norm(h)
        named = {
            "x": x,
            "x_normed": norm(x),
            "first": first,
            "h": h,
            "h_normed": norm(h),
            "second": second,
            "y": h + second,
            "lost": norm(x) + first,
        }
        return {key: value.tolist() for key, value in named.items()}

    x = mx.array([1.0, 7.0])
    return run(x) | {"rms_x": rms(x), "large": run(10 * x)}


def toy_table() -> dict[str, Any]:
    """Look up rows of a small table, and score one of them against all."""
    table = [[1, 0, 2], [0, 3, 1], [2, 1, 0], [1, 1, 1]]
    embedding = Embedding(4, 3, mx.array(table, mx.float32))
    row = embedding(mx.array(2))
    return {"rows": table, "scores": embedding.as_linear(row).tolist()}


def rms(x: mx.array) -> float:
    """Return the root mean square of all that is in x."""
    return mx.sqrt(mx.mean(x * x)).item()
