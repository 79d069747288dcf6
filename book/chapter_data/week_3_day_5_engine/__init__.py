"""Week 3, day 5: text that waits, changed logits, and what an engine's steps bring."""

from collections.abc import Mapping, Sequence
from typing import Any

from tiny_llm_course.book.drawing import Drawing

from .by_hand import alone, logprobs, penalties
from .engine_run import table, told
from .examples import examples as examples
from .pictures import draw_step
from .streams import EXAMPLES, all_examples, streamed


def numbers() -> dict[str, Any]:
    """Return the numbers of the text."""
    return {
        "alone": alone(),
        "penalties": penalties(),
        "logprobs": logprobs(),
        "run": told(),
        "opening": _opening(),
    }


def _opening() -> dict[str, int]:
    """Return how often text waits in the first example of the figure."""
    steps = streamed(*EXAMPLES["plain"], 1)
    return {
        "num_waiting": sum(bool(one["waits"]) for one in steps),
        "num_steps": len(steps),
        "most": max(len(one["waits"]) for one in steps),
    }


def tables() -> Mapping[str, Sequence[Sequence[str]]]:
    """Return the tokens of a text, and the steps of an engine."""
    return {"alone": alone()["rows"], "run": table()}


def drawings() -> dict[str, Drawing]:
    """Return the way of a step."""
    return {"step": draw_step}


def data() -> dict[str, Any]:
    """Return what the interactive figure shows."""
    return {"held-back-text": all_examples()}
