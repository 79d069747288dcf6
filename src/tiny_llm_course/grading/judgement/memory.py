"""Measures the memory that MLX arrays take during some work."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from unittest.mock import patch

import mlx.core as mx

from tiny_llm_course.grading.judgement.call import Call
from tiny_llm_course.solution import Solution


def peak_bytes(work: Callable[[], object]) -> int:
    """Return the peak memory of some work, beyond what was held before.

    Kernels run without guard zones meanwhile, since those take memory too.
    """
    mx.synchronize()
    before = mx.get_active_memory()
    mx.reset_peak_memory()
    with patch.dict(os.environ, {"TINY_LLM_WATCH": "0"}):
        work()
        mx.synchronize()
    # The peak covers allocations since the reset, so without any it is 0.
    return max(mx.get_peak_memory() - before, 0)


@dataclass(frozen=True)
class PeakOf(Call):
    """The peak memory of a call, beyond its arguments."""

    def run(self, solution: Solution) -> int:
        """Run the call, and return its peak in bytes."""
        return peak_bytes(lambda: mx.eval(super(PeakOf, self).run(solution)))
