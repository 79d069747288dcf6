"""A model on several processes: each holds a part of every layer, and has all texts."""

import math
from collections.abc import Callable

import mlx.core as mx
from jaxtyping import Float

from tiny_llm_course import todo

from .checks import shape_of
from .quantize import QuantizedWeights
from .qwen2_week2 import Qwen2MLP, Qwen2MultiHeadAttention
from .qwen2_week3 import Qwen2ModelWeek3

SMALLEST_GROUP = 32
"""The kernels, and those of MLX, know groups of 32, 64 and 128 weights."""


def shard_columns(
    w: Float[mx.array, "O *I"] | QuantizedWeights, rank: int, size: int
) -> Float[mx.array, "O_r *I"] | QuantizedWeights:
    """Return the part of a weight that computes one part of the outputs.

        y = concat over r of  x w_r^T

    Each process needs all of x, and computes a part of y. In the formula y = x W, with
    W the transpose of what is stored, these are columns of W: hence the name.

    Args:
        w: A weight O x I, dense or packed; or a bias of O numbers.
        rank: Number of the process, from 0 on.
        size: How many there are.

    Returns:
        The weight of O / size outputs, of the same kind.

    Raises:
        ValueError: `size` does not divide the number of outputs.

    Source: Shoeybi et al. 2019 (arXiv:1909.08053), section 3.
    """
    todo("week 3, day 7, task 5")


def shard_rows(
    w: Float[mx.array, "O I"] | QuantizedWeights, rank: int, size: int
) -> Float[mx.array, "O I_r"] | QuantizedWeights:
    """Return the part of a weight that reads one part of the inputs.

        y = sum over r of  x_r w_r^T

    Each process has a part of x, which a layer from `shard_columns` has left with it.
    It computes all outputs, but only its share of each: the sum is still to come.

    In a packed weight the cut may go through a group. Both sides keep its scale and its
    bias then, in groups that are half as large, or a quarter.

    Args:
        w: A weight O x I, dense or packed.
        rank: Number of the process, from 0 on.
        size: How many there are.

    Returns:
        The weight of I / size inputs, of the same kind.

    Raises:
        ValueError: `size` does not divide the number of inputs; or the weight is
            packed, and a part is no multiple of 32 inputs.

    Source: Shoeybi et al. 2019 (arXiv:1909.08053), section 3.
    """
    todo("week 3, day 7, task 5")


def split_model(
    model: Qwen2ModelWeek3,
    rank: int,
    size: int,
    all_sum: Callable[[mx.array], mx.array],
) -> None:
    """Leave of each layer, in place, what one of several processes computes.

        h = x + all_sum(attention_r(norm_1(x)))
        y = h + all_sum(mlp_r(norm_2(h)))

    A process has some of the heads, with the keys and values of these, and some of the
    channels of the MLP. Norms, embedding and head stay whole: what they work on is the
    same everywhere. The model computes with `run_pieces` then, which adds up.

    Args:
        model: A whole model.
        rank: Number of the process, from 0 on.
        size: How many there are.
        all_sum: Called by all processes in the same order. Adds up what they pass, and
            returns the sum to each of them.

    Raises:
        ValueError: `size` does not divide the number of key heads, of query heads or of
            channels.
    """
    todo("week 3, day 7, task 5")
