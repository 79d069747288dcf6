"""Plain norms and blocks, for the examples of known mistakes."""

import inspect
from typing import Any

import mlx.core as mx


def plain(norm: Any, dim: int = 1, **changes: Any) -> Any:  # noqa: ANN401
    """Build a norm that has learned nothing: gains of 1, biases of 0.

    Args:
        norm: A class of a solution.
        dim: The number of channels.
        **changes: Arguments that are to be others.
    """
    given = {
        "num_groups": 2,
        "dim": dim,
        "weight": mx.ones(dim),
        "bias": mx.zeros(dim),
        "running_mean": mx.zeros(dim),
        "running_var": mx.ones(dim),
    }
    asked = inspect.signature(norm).parameters
    known = {name: value for name, value in given.items() if name in asked}
    return norm(**{**known, **changes})


def exchange(v: mx.array) -> mx.array:
    """Exchange the channels, and halve them: what stands for attention."""
    return v[..., ::-1] / 2


def cut_off(v: mx.array) -> mx.array:
    """Cut off what is negative, and shift it: what stands for the MLP."""
    return mx.maximum(v, 0) - 1


def first(v: mx.array) -> mx.array:
    """Bring a vector to size 1."""
    return v * mx.rsqrt(mx.mean(v * v, axis=-1, keepdims=True))


def second(v: mx.array) -> mx.array:
    """Bring a vector to size 2."""
    return 2 * first(v)


def examples() -> dict[str, Any]:
    """Return what the examples may call."""
    parts = exchange, cut_off, first, second
    return {"plain": plain, "parts": parts, "x": mx.array([[7.0, 1.0]])}
