"""A kernel is compiled to count its arithmetic, or only to run."""

from typing import Any

import mlx.core as mx
import pytest

from tiny_llm_course.metal.costs import Costs
from tiny_llm_course.metal.kernel import MetalFaultError, metal_kernel
from tiny_llm_course.metal.variants import counting, fast, running_kernel

SOURCE = """
threadgroup float part[64];
const uint t = thread_index_in_threadgroup;
part[t] = 2 * x[t] + 1;
threadgroup_barrier(mem_flags::mem_threadgroup);
out[t] = part[63 - t];
"""
X = mx.arange(64, dtype=mx.float32)
SIZES: dict[str, Any] = {
    "inputs": [X],
    "output_shapes": [(64,)],
    "output_dtypes": [mx.float32],
    "grid": (64, 1, 1),
    "threadgroup": (64, 1, 1),
}


def test_additions_and_multiplications_are_counted() -> None:
    kernel = metal_kernel("f", ["x"], ["out"], SOURCE)

    costs = kernel.run(**SIZES, counts_costs=True, compiled=counting).costs

    assert (costs.adds, costs.multiplies, costs.other_operations) == (64, 64, 0)
    assert (costs.bytes_read, costs.bytes_written, costs.lines) == (256, 256, 4)


def test_costs_are_counted_only_for_whoever_asks() -> None:
    kernel = metal_kernel("f", ["x"], ["out"], SOURCE)

    assert kernel.run(**SIZES).costs == Costs()


def test_what_counts_is_refused_as_usual() -> None:
    kernel = metal_kernel("f", ["x"], ["out"], "static int n = 0; out[n] = x[n];")

    assert kernel.run(**SIZES, compiled=counting).faults[0].kind == "language"


def test_a_kernel_that_only_runs_keeps_barriers() -> None:
    (out,) = running_kernel("f", ["x"], ["out"], SOURCE)(**SIZES)

    assert mx.array_equal(out, (2 * X + 1)[::-1])


def test_nobody_watches_a_kernel_that_only_runs() -> None:
    """So it is fast: a race is no mistake there, and no cost is counted."""
    racing = SOURCE.replace("threadgroup_barrier(mem_flags::mem_threadgroup);", "")
    kernel = metal_kernel("f", ["x"], ["out"], racing)

    assert kernel.run(**SIZES).faults[0].kind == "race"
    costs = kernel.run(**SIZES, counts_costs=True, compiled=fast).costs
    assert costs.bytes_read == 0
    assert len(running_kernel("f", ["x"], ["out"], racing)(**SIZES)) == 1


def test_one_that_does_not_compile_says_why() -> None:
    kernel = running_kernel("f", ["x"], ["out"], "out[0] = x[0] + y;")

    with pytest.raises(MetalFaultError, match="y"):
        kernel(**SIZES)
