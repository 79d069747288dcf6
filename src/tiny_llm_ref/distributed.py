"""A model on several processes: each holds a part of every layer, and has all texts."""

import math
from collections.abc import Callable

import mlx.core as mx
from jaxtyping import Float

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
    num_outputs = (w.scales if isinstance(w, QuantizedWeights) else w).shape[0]
    mine = _part("shard_columns", "outputs", num_outputs, rank, size)
    if not isinstance(w, QuantizedWeights):
        return mx.contiguous(w[mine])
    parts = [mx.contiguous(one[mine]) for one in (w.scales, w.biases, w.weight)]
    return _packed_like(w, *parts)


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
    mine = _part("shard_rows", "inputs", shape_of(w)[1], rank, size)
    if not isinstance(w, QuantizedWeights):
        return mx.contiguous(w[:, mine])
    w = _with_groups_that_fit(w, mine.stop - mine.start)
    groups = slice(mine.start // w.group_size, mine.stop // w.group_size)
    words = slice(mine.start * w.bits // 32, mine.stop * w.bits // 32)
    cuts = (w.scales[:, groups], w.biases[:, groups], w.weight[:, words])
    return _packed_like(w, *map(mx.contiguous, cuts))


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
    for layer in model.layers:
        _split_attention(layer.attention, rank, size)
        _split_mlp(layer.mlp, rank, size)
        layer.whole_layer = None  # there is no sum inside of one operation
    model.all_sum = all_sum


def _split_attention(attention: Qwen2MultiHeadAttention, rank: int, size: int) -> None:
    """Leave some of the heads, with the keys and values that they look at."""
    _part("split_model", "key heads", attention.num_kv_heads, rank, size)
    attention.num_heads //= size
    attention.num_kv_heads //= size
    for name in ("wq", "bq", "wk", "bk", "wv", "bv"):
        setattr(attention, name, shard_columns(getattr(attention, name), rank, size))
    attention.wo = shard_rows(attention.wo, rank, size)


def _split_mlp(mlp: Qwen2MLP, rank: int, size: int) -> None:
    """Leave some of the channels."""
    mlp.w_gate = shard_columns(mlp.w_gate, rank, size)
    mlp.w_up = shard_columns(mlp.w_up, rank, size)
    mlp.w_down = shard_rows(mlp.w_down, rank, size)


def _part(where: str, what: str, count: int, rank: int, size: int) -> slice:
    """Return which of `count` neighbours belong to a process."""
    if count % size or not 0 <= rank < size:
        raise ValueError(
            f"{where}: expected a number of {what} that can be dealt out to {size} "
            f"processes, and one of these, got {count} {what} and process {rank}"
        )
    each = count // size
    return slice(rank * each, (rank + 1) * each)


def _with_groups_that_fit(w: QuantizedWeights, num_inputs: int) -> QuantizedWeights:
    """Write the same weight in groups of which a part of the inputs has whole ones."""
    group_size = math.gcd(w.group_size, num_inputs)
    if group_size < SMALLEST_GROUP:
        raise ValueError(
            f"shard_rows: expected parts of a multiple of {SMALLEST_GROUP} inputs of a "
            f"packed weight, got {num_inputs}"
        )
    times = w.group_size // group_size
    scales, biases = (mx.repeat(one, times, axis=1) for one in (w.scales, w.biases))
    return QuantizedWeights(scales, biases, group_size, w.bits, w.weight)


def _packed_like(
    w: QuantizedWeights, scales: mx.array, biases: mx.array, weight: mx.array
) -> QuantizedWeights:
    """Return a packed weight in the format of another one."""
    return QuantizedWeights(scales, biases, w.group_size, w.bits, weight)
