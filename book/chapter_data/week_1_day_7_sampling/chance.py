"""What chance does: many draws, noise, and how far a share may be off."""

import math
from typing import Any

import mlx.core as mx
import numpy as np

from tiny_llm_course.oracle.sampler import DRAWS_PER_CALL, NUM_CALLS
from tiny_llm_ref.sampler import make_sampler

from .by_hand import SHARES, worked_row

QWEN2_VOCABULARY = 151936


def many_draws() -> dict[str, Any]:
    """Draw many times from the worked example, at temperature 2."""
    num_draws = 10_000
    mx.random.seed(7)
    ids = make_sampler(2.0, None, None)(mx.repeat(worked_row(), num_draws, axis=0))
    counts = np.bincount(np.array(ids), minlength=len(SHARES)).tolist()
    return {"times": num_draws, "counts": counts}


def worked_gumbel() -> dict[str, Any]:
    """Follow one draw of `mx.random.categorical` from noise to token."""
    row = worked_row()
    # The first key whose draw is neither the likeliest nor the least likely token.
    key = next(
        key
        for key in map(mx.random.key, range(100))
        if mx.random.categorical(row, key=key).item() == 3
    )
    noise = mx.random.gumbel(row.shape, key=key)
    many = mx.repeat(row, 1000, axis=0)
    by_hand = mx.argmax(many + mx.random.gumbel(many.shape, key=key), axis=-1)
    same = mx.sum(by_hand == mx.random.categorical(many, key=key)).item()
    return {
        "uniform": 0.65,
        "running": [sum(SHARES[: one + 1]) for one in range(len(SHARES))],
        "noise": noise[0].tolist(),
        "sums": (row + noise)[0].tolist(),
        "winner": int(mx.argmax(row + noise).item()),
        "same": same,
        "of": len(many),
    }


def judged() -> dict[str, Any]:
    """Say how far chance may move a share in the tests."""
    share, num_draws = 0.4, NUM_CALLS * DRAWS_PER_CALL
    spread = math.sqrt(share * (1 - share) / num_draws)
    return {
        "draws": num_draws,
        "share": share,
        "spread": spread,
        "allowed": 5 * spread,
        "one_in_millions": round(1 / math.erfc(5 / math.sqrt(2)) / 1e6),
    }


def sum_reaches_1() -> dict[str, int]:
    """Count the tokens that have a float32 sum of 1 or more before them."""
    mx.random.seed(0)
    logits = 3 * mx.random.normal((QWEN2_VOCABULARY,))
    shares = mx.softmax(mx.sort(logits)[::-1], axis=-1)
    before = mx.cumsum(shares, inclusive=False)
    return {"dropped": int(mx.sum(before >= 1).item()), "of": QWEN2_VOCABULARY}
