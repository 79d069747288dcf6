"""How much memory some work takes, in arrays of MLX."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from unittest.mock import patch

import mlx.core as mx

from tiny_llm_course.grading.judgement.call import Call
from tiny_llm_course.solution import Solution


def peak_bytes(work: Callable[[], object]) -> int:
    """Return the most that some work held at a time, beyond what was there before.

    Kernels are not watched meanwhile, which takes memory of its own.
    """
    mx.synchronize()
    before = mx.get_active_memory()
    mx.reset_peak_memory()
    with patch.dict(os.environ, {"TINY_LLM_WATCH": "0"}):
        work()
        mx.synchronize()
    # The peak is that of the allocations since the reset: none leaves it at 0.
    return max(mx.get_peak_memory() - before, 0)


@dataclass(frozen=True)
class PeakOf(Call):
    """The most that a call holds at a time, beside its arguments."""

    def run(self, solution: Solution) -> int:
        """Count the bytes."""
        return peak_bytes(lambda: mx.eval(super(PeakOf, self).run(solution)))
