"""Week 3, day 7, further: what two machines bring, and what two processes cost."""

from collections.abc import Mapping, Sequence
from typing import Any

from tiny_llm_course.book.drawing import Drawing

from .pictures import draw_parts
from .two import LATENCIES_US, MEMORY_BYTES_PER_S, here, prompt_ms, two_macs


def numbers() -> dict[str, Any]:
    """Return the numbers of the text."""
    slow_us, fast_us = LATENCIES_US
    return {
        "here": here(),
        "memory": f"{MEMORY_BYTES_PER_S / 1e9:.0f}",
        "slow_us": slow_us,
        "fast_us": fast_us,
        "prompt_ms": prompt_ms(),
    }


def drawings() -> dict[str, Drawing]:
    """Return which process has what of a layer."""
    return {"parts": draw_parts}


def tables() -> Mapping[str, Sequence[Sequence[str]]]:
    """Return what a token takes on one machine and on two."""
    return {"macs": two_macs()}
