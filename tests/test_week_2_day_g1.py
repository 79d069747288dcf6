"""Week 2, day G1: threads, grids and SIMD groups.

The chapter: book/en/week-2-day-g1-threads-and-grids.md
"""

import mlx.core as mx
import pytest

from tiny_llm_course.grading.judgement.call import Call
from tiny_llm_course.grading.judgement.grader import Grader
from tiny_llm_course.grading.judgement.inputs import each_dtype, normal
from tiny_llm_course.oracle.cached import fused, metal_elementwise

SILU = "metal_elementwise.silu_times_up"
ONE_THREAD = "metal_elementwise.row_sum_one_thread"
TREE = "metal_elementwise.row_sum_tree"
SIMD = "metal_elementwise.row_sum_simd"
SWIGLU = "metal_model.swiglu"

each_number_of_rows = pytest.mark.parametrize("rows", [300, 1025, 8], ids=str)
"""More than a threadgroup of threads, and more than the largest one has."""

each_length = pytest.mark.parametrize("columns", [8, 31, 256, 257, 1000, 4864], ids=str)
"""Shorter than a threadgroup, as long as one, one more, and as wide as an MLP."""


@each_dtype
@pytest.mark.parametrize("size", [8, 300, 4096], ids=str)
def test_task_1_agrees_with_torch(grade: Grader, size: int, dtype: mx.Dtype) -> None:
    """A part of a threadgroup, one and a part of another one, and several whole."""
    gate = normal(size, dtype=dtype, scale=3, name="gate")
    up = normal(size, dtype=dtype, scale=3, name="up")

    _assert_gates(grade, gate, up)


@pytest.mark.parametrize("size", [1, 7, 1025], ids=str)
def test_task_1_takes_any_number_of_entries(grade: Grader, size: int) -> None:
    """Fewer than 8 come in constant memory. 1025 are more than a threadgroup has."""
    _assert_gates(grade, normal(size, name="gate"), normal(size, name="up"))


def test_task_1_has_tails_where_exponentials_overflow(grade: Grader) -> None:
    gate = mx.array([-1e4, -100.0, -88.0, -20.0, -1.278, 0.0, 20.0, 90.0, 1e4])

    _assert_gates(grade, gate, normal(gate.size))


def test_task_1_is_computed_in_float32(grade: Grader) -> None:
    """In float16 the gate would underflow here, or its product overflow."""
    gate = mx.linspace(-24, -8, 33).astype(mx.float16)
    up = normal(33, dtype=mx.float16, scale=20000)

    _assert_gates(grade, gate, mx.clip(up, -60000, 60000))


@each_dtype
def test_task_2_one_thread_agrees_with_torch(grade: Grader, dtype: mx.Dtype) -> None:
    _assert_sums(grade, ONE_THREAD, normal(5, 100, dtype=dtype))


@each_number_of_rows
def test_task_2_one_thread_takes_any_number_of_rows(grade: Grader, rows: int) -> None:
    _assert_sums(grade, ONE_THREAD, normal(rows, 9))


def test_task_2_one_thread_takes_a_single_number(grade: Grader) -> None:
    _assert_sums(grade, ONE_THREAD, mx.array([[-2.5]]))


@each_dtype
def test_task_2_tree_agrees_with_torch(grade: Grader, dtype: mx.Dtype) -> None:
    _assert_sums(grade, TREE, normal(3, 700, dtype=dtype))


@each_length
def test_task_2_tree_takes_rows_of_any_length(grade: Grader, columns: int) -> None:
    _assert_sums(grade, TREE, normal(2, columns))


def test_task_2_tree_takes_a_single_number(grade: Grader) -> None:
    _assert_sums(grade, TREE, mx.array([[-2.5]]))


@pytest.mark.parametrize("which", [ONE_THREAD, TREE])
def test_task_2_sums_in_float32(grade: Grader, which: str) -> None:
    """The sum of these is beyond float16, and its terms are not."""
    _assert_sums(grade, which, 1000 + normal(2, 300, dtype=mx.float16))


@pytest.mark.parametrize("which", [ONE_THREAD, TREE])
def test_task_2_reads_rows_that_lie_apart(grade: Grader, which: str) -> None:
    """Columns of a transposed matrix: MLX copies them before a kernel reads them."""
    _assert_sums(grade, which, normal(40, 9).T[:, 2:35:2])


@each_dtype
def test_task_3_agrees_with_torch(grade: Grader, dtype: mx.Dtype) -> None:
    _assert_sums(grade, SIMD, normal(3, 700, dtype=dtype))


@each_length
def test_task_3_takes_rows_of_any_length(grade: Grader, columns: int) -> None:
    _assert_sums(grade, SIMD, normal(2, columns))


def test_task_3_takes_a_single_number(grade: Grader) -> None:
    _assert_sums(grade, SIMD, mx.array([[-2.5]]))


def test_task_3_sums_in_float32(grade: Grader) -> None:
    """The sum of these is beyond float16, and its terms are not."""
    _assert_sums(grade, SIMD, 1000 + normal(2, 300, dtype=mx.float16))


def test_task_3_reads_rows_that_lie_apart(grade: Grader) -> None:
    _assert_sums(grade, SIMD, normal(40, 9).T[:, 2:35:2])


@each_dtype
@pytest.mark.parametrize("shape", [(1, 1, 640), (2, 5, 33)], ids=str)
def test_task_4_agrees_with_torch(
    grade: Grader, shape: tuple[int, ...], dtype: mx.Dtype
) -> None:
    """A single token, and several of two texts."""
    _assert_opens(
        grade,
        normal(*shape, dtype=dtype, scale=3, name="gate"),
        normal(*shape, dtype=dtype, scale=3, name="up"),
    )


@pytest.mark.parametrize("shape", [(1,), (9,), (3, 7), (2, 1, 2, 3)], ids=str)
def test_task_4_takes_any_leading_axes(grade: Grader, shape: tuple[int, ...]) -> None:
    _assert_opens(grade, normal(*shape, name="gate"), normal(*shape, name="up"))


def test_task_4_reads_numbers_that_lie_apart(grade: Grader) -> None:
    """A single product for both leaves them in this layout."""
    both = normal(3, 5, 2, 33)

    _assert_opens(grade, both[:, :, 0], both[:, :, 1])


def _assert_gates(grade: Grader, gate: mx.array, up: mx.array) -> None:
    """Gate, and compare with PyTorch."""
    grade.assert_close(Call(SILU, (gate, up)), fused.swiglu(gate, up), gate.dtype)


def _assert_sums(grade: Grader, which: str, x: mx.array) -> None:
    """Add up the rows, and compare with PyTorch."""
    truth = metal_elementwise.row_sum(x)

    grade.assert_close(Call(which, (x,)), truth, mx.float32)


def _assert_opens(grade: Grader, gate: mx.array, up: mx.array) -> None:
    """Gate in the model, and compare with PyTorch."""
    grade.assert_close(Call(SWIGLU, (gate, up)), fused.swiglu(gate, up), gate.dtype)
