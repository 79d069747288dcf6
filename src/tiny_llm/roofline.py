"""What a token costs, and how fast a machine can pay for it."""

from typing import Any

import mlx.core as mx

from tiny_llm_course import todo

Config = Any
"""Sizes of a Qwen2 by the names in `config.json`: the `args` that `mlx_lm` has."""


def flops_per_token(config: Config, context: int) -> int:
    """Count the operations of all matrix products for one more token.

        layer = 2 (2 E^2 + 2 E H_kv D + 3 E I) + 4 S E
        flops = num_layers * layer + 2 V E

    The keys and values of the tokens before are kept in a cache. A product of m x k by
    k x n takes m n k multiplications and as many additions. All else (norms, rotation,
    softmax, biases, sums) is left out, as FlopCounterMode of PyTorch leaves it out.

    Args:
        config: Sizes of a Qwen2, under the names that they have in a `config.json`:
            the `args` of a model that `mlx_lm` loads.
        context: Number of tokens S that the new one sees, itself included.
    """
    todo("week 2, day 2, task 1")


def bytes_per_token(
    config: Config,
    context: int,
    bits: int | None = None,
    group_size: int = 64,
    dtype: mx.Dtype = mx.float32,
) -> int:
    """Count the bytes that one more token moves between memory and processor.

    That is every weight once, and the keys and values of S tokens: those of the tokens
    before are read, those of the new one are written. Activations are left out, since
    they are small and stay in the caches of the processor. Of a table that is not the
    head, one row is read.

    Args:
        config: Sizes of a Qwen2, under the names that they have in a `config.json`:
            the `args` of a model that `mlx_lm` loads.
        context: Number of tokens S that the new one sees, itself included.
        bits: Width of a quantised weight. All matrices are quantised, the table and the
            head among them. None leaves them in `dtype`.
        group_size: Number of quantised weights that share a scale and a bias.
        dtype: Of all other numbers: biases, gains, the scale and the bias of each
            group, keys and values.
    """
    todo("week 2, day 2, task 2")


def roofline(
    flops: float, num_bytes: float, flops_per_s: float, bytes_per_s: float
) -> tuple[float, str]:
    """Return the shortest time in which a machine can do some work.

        seconds = max(flops / flops_per_s, num_bytes / bytes_per_s)

    A machine that computes and moves at once is as slow as the slower of the two.

    Args:
        flops: Operations of the work.
        num_bytes: Bytes that it moves.
        flops_per_s: Operations per second that the machine is capable of.
        bytes_per_s: Bytes per second that its memory delivers.

    Returns:
        The time in seconds, and what limits it: "compute" or "memory".

    Source: Williams, Waterman and Patterson 2009 (doi:10.1145/1498765.1498785), which
        draw the inverse: operations per second over operations per byte.
    """
    todo("week 2, day 2, task 3")
