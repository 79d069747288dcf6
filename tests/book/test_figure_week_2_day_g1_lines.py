"""The second figure of day G1 counts the lines that the simulator counts."""

import itertools

import mlx.core as mx
import pytest
from tests.book.conftest import OpenFigure

from tiny_llm_course.metal.kernel import metal_kernel

CHAPTER = "week-2-day-g1-threads-and-grids"
NAME = "lines-of-a-simdgroup"

LOAD = """
const T one = x[FIRST + thread_position_in_grid.x * STRIDE];
y[thread_position_in_grid.x] = one;
"""
"""The stores of neighbours are a line of their own, or two of them half as wide."""


def lines_counted(stride: int, first: int, dtype: mx.Dtype) -> int:
    """Run a load of a SIMD group in the simulator, and count the lines of x."""
    kernel = metal_kernel("load", ["x"], ["y"], LOAD)
    result = kernel.run(
        inputs=[mx.zeros(32 * 41, dtype=dtype)],
        output_shapes=[(32,)],
        output_dtypes=[dtype],
        grid=(32, 1, 1),
        threadgroup=(32, 1, 1),
        template=[("T", dtype), ("STRIDE", stride), ("FIRST", first)],
        seeds=(0,),
        counts_costs=True,
    )
    assert result.faults == ()
    of_the_stores = 1
    return result.costs.lines - of_the_stores


@pytest.mark.parametrize(("stride", "first"), [(1, 0), (1, 9), (3, 31), (40, 5)])
@pytest.mark.parametrize("size", ["4", "2"])
def test_it_counts_the_lines_of_the_simulator(
    figure: OpenFigure, stride: int, first: int, size: str
) -> None:
    dtype = {"4": mx.float32, "2": mx.float16}[size]

    figure.set(stride=stride, first=first, bytes=size)

    assert figure.read("lines") == lines_counted(stride, first, dtype)


def test_it_gets_no_worse_from_32_floats_on(figure: OpenFigure) -> None:
    """As the answer below the figure says."""
    lines = {}
    for stride, first in itertools.product((1, 31, 32, 40), (0, 1)):
        figure.set(stride=stride, first=first)
        lines[stride, first] = figure.read("lines")

    assert (lines[1, 0], lines[1, 1]) == (1, 2)
    assert lines[31, 0] < 32
    assert lines[32, 0] == lines[40, 0] == lines[40, 1] == 32


def test_the_share_that_is_used(figure: OpenFigure) -> None:
    figure.set(stride=1)
    neighbours = figure.read("used")
    figure.set(stride=40)

    assert neighbours == 1.0
    assert figure.read("used") == 4 / figure.data["line_bytes"]
    assert figure.read("fetched") == 32 * figure.data["line_bytes"]
