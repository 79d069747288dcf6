"""What is known before anything is computed: sizes and shapes fit, or an error says so.

Nothing here imports a solution, so that every file can use it.
"""

from typing import Any, TypeVar

import mlx.core as mx

from .compiled import Packed

Weight = TypeVar("Weight", bound=mx.array | Packed)


def checked(name: str, weight: Weight, shape: tuple[int, ...]) -> Weight:
    """Return `weight`, once its shape is known to be right.

    Args:
        name: What the error calls it.
        weight: Dense or packed.
        shape: Of the dense weight.

    Raises:
        ValueError: The shape is another one.
    """
    if (got := shape_of(weight)) != shape:
        raise ValueError(f"{name}: expected shape {shape}, got {got}")
    return weight


def shape_of(weight: mx.array | Packed) -> tuple[int, ...]:
    """Return the shape of a weight, of the dense one if it is packed."""
    if isinstance(weight, mx.array):
        return weight.shape
    num_outputs, num_words = weight.weight.shape
    return num_outputs, num_words * 32 // weight.bits


def check_heads(hidden_size: int, num_heads: int, num_kv_heads: int) -> None:
    """Make sure that query heads share the width, and key heads the query heads.

    Raises:
        ValueError: One number does not divide the one before it.
    """
    if hidden_size % num_heads != 0 or num_heads % num_kv_heads != 0:
        raise ValueError(
            "Qwen2MultiHeadAttention: expected num_kv_heads to divide num_heads, "
            f"and num_heads to divide hidden_size, got {num_kv_heads}, {num_heads} "
            f"and {hidden_size}"
        )


def check_is_qwen2(where: str, args: Any) -> None:  # noqa: ANN401 - mlx_lm has no types
    """Make sure that a checkpoint is one of the models that this course builds.

    Args:
        where: Which class asks, for the error.
        args: The `args` of what `mlx_lm` loads.

    Raises:
        ValueError: It is another one.
    """
    if args.model_type != "qwen2":
        raise ValueError(
            f"{where}: expected a checkpoint of model_type 'qwen2', got "
            f"{args.model_type!r}"
        )
