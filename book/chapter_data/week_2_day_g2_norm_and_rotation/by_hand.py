"""A row of eight for four threads, sizes of Qwen2-0.5B, and positions in 16 bits."""

import math
from typing import Any

import mlx.core as mx

ROW = (3.0, -1.0, 2.0, 0.0, 1.0, 5.0, -4.0, 2.0)
THREADS, LANES = 4, 2
"""Two SIMD groups of two lanes. On a GPU of Apple's, a SIMD group has 32."""

HIDDEN, HEADS, WIDTH = 896, 14, 64
"""Of Qwen2-0.5B, from its config.json."""


def one_row() -> dict[str, Any]:
    """Let four threads add up the squares of a row, without eps."""
    taken = [ROW[thread::THREADS] for thread in range(THREADS)]
    sums = [sum(one * one for one in numbers) for numbers in taken]
    slots = [sum(sums[at : at + LANES]) for at in range(0, THREADS, LANES)]
    mean = sum(slots) / len(ROW)
    return {
        "taken": taken,
        "sums": sums,
        "slots": slots,
        "total": sum(slots),
        "mean": mean,
        "factor": 1 / math.sqrt(mean),
        "first": ROW[0] / math.sqrt(mean),
    }


def sizes() -> dict[str, Any]:
    """Return how a row of the model is shared out, and what a sum alone moves."""
    threads = min(1024, 32 * math.ceil(HIDDEN / 128))
    return {
        "hidden": HIDDEN,
        "threads": threads,
        "groups": threads // 32,
        "each": HIDDEN // threads,
        "heads": HEADS,
        "sum_alone": 3 * 4 * HIDDEN,
    }


def half_positions() -> dict[str, Any]:
    """Find the first whole number that a format does not have, and what it has."""
    return {
        name: next(n for n in range(1, 4096) if mx.array(n, dtype).tolist() != n)
        for name, dtype in (("float16", mx.float16), ("bfloat16", mx.bfloat16))
    }
