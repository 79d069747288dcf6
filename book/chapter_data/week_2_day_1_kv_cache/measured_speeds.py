"""What the cache brings in time, as `pdm run bench` has measured it."""

from collections.abc import Sequence
from typing import Any

from tiny_llm_lab import measured
from tiny_llm_lab.bench.models import EMBEDDED_MODEL, QWEN2_0_5B

CASES = ((EMBEDDED_MODEL, 32), (QWEN2_0_5B, 32), (QWEN2_0_5B, 1024))
"""Models, and how many tokens are in the cache."""


def speeds() -> Sequence[dict[str, Any]]:
    """Return the tokens per second of Week 1's model and of today's, in float32."""
    found = list[dict[str, Any]]()
    for model, tokens in CASES:
        without, with_cache = (
            measured.speed_of_rung(rung, model, tokens) for rung in ("week 1", "cache")
        )
        found.append(
            {
                "tokens": tokens,
                "without": without,
                "with": with_cache,
                "factor": with_cache / without,
            }
        )
    return found
