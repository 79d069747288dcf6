"""Steps that a queue of texts takes, and bytes that a batch reads."""

from collections import deque
from typing import Any

from tiny_llm_course.grading.scenarios.architecture import Architecture
from tiny_llm_ref.roofline import bytes_per_token

TEXTS = (
    *((12, 6), (5, 24), (30, 3), (8, 9), (20, 16), (3, 5)),
    *((14, 12), (40, 4), (6, 18), (9, 2), (25, 7), (4, 10)),
)
"""Tokens of a prompt, and steps that its answer takes."""

SLOTS = 4

# Qwen2-0.5B: table 1 of its report, arXiv:2407.10671.
QWEN2 = Architecture(896, 14, 2, 4864, 24, 151936)
BITS, CONTEXT = 4, 512


def queue(num_slots: int, *, waits: bool) -> dict[str, Any]:
    """Count the steps that all texts take, and the slots that are idle in them.

    Args:
        num_slots: How many texts a step has at most.
        waits: Whether slots are filled only when all of them are idle.
    """
    waiting, left = deque(answer for _, answer in TEXTS), [0] * num_slots
    steps = 0
    while waiting or any(left):
        if not waits or not any(left):
            left = [one or (waiting.popleft() if waiting else 0) for one in left]
        left = [max(0, one - 1) for one in left]
        steps += 1
    taken = sum(answer for _, answer in TEXTS)
    return {"steps": steps, "idle": 1 - taken / (steps * num_slots)}


def saved(num_rows: int) -> dict[str, float]:
    """Count what a step reads for some texts of equal length, in MB."""
    one, two = (bytes_per_token(QWEN2, context, BITS) for context in (1, 2))
    cached = CONTEXT * (two - one)
    weights = one - (two - one)
    step = weights + num_rows * cached
    return {
        "rows": num_rows,
        "weights": weights / 1e6,
        "cached": num_rows * cached / 1e6,
        "each": step / num_rows / 1e6,
        "times": (weights + cached) * num_rows / step,
        "context": CONTEXT,
        "bits": BITS,
    }
