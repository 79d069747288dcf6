"""Week 2, day G2: norm and rotation on a GPU, in kernels of a threadgroup for each row.

The chapter: book/en/week-2-day-g2-norm-and-rotation.md
"""

import mlx.core as mx
import pytest

from tiny_llm_course.grading.judgement.call import Call
from tiny_llm_course.grading.judgement.grader import Grader
from tiny_llm_course.grading.judgement.inputs import each_dtype, gain, normal
from tiny_llm_course.grading.scenarios.multiple_outputs import OneOf
from tiny_llm_course.oracle.cached import fused, layer_norm, positional_encoding

RMS_NORM = "metal_norms.rms_norm"
ADD_RMS_NORM = "metal_norms.add_rms_norm"
ROPE = "metal_norms.rope"
NORM = "metal_model.norm"
ROTATE = "metal_model.rotate"

RESULTS = ("sum", "norm_of_sum")

each_result = pytest.mark.parametrize("index", [0, 1], ids=["sum", "norm"])
"""Runs a test for both results of `add_rms_norm`."""

each_shape = pytest.mark.parametrize(
    "shape",
    [(1, 32), (4, 31), (2, 3, 33), (20,), (2, 300), (9, 128)],
    ids=str,
)
"""Rows that fill SIMD groups, leave lanes without a number, or take several groups."""

each_half = pytest.mark.parametrize(
    "dtype", [mx.float16, mx.bfloat16], ids=["float16", "bfloat16"]
)


@each_shape
def test_task_1_norm_agrees_with_torch(grade: Grader, shape: tuple[int, ...]) -> None:
    _assert_normalises(grade, _rows(shape))


def test_task_1_norm_agrees_in_rows_of_one_number(grade: Grader) -> None:
    _assert_normalises(grade, _rows((3, 1)))


@each_half
@pytest.mark.parametrize("shape", [(4, 31), (2, 3, 140)], ids=str)
def test_task_1_norm_agrees_in_half_precision(
    grade: Grader, shape: tuple[int, ...], dtype: mx.Dtype
) -> None:
    _assert_normalises(grade, _rows(shape, dtype))


@pytest.mark.parametrize("columns", [896, 1025, 5000])
def test_task_1_norm_agrees_in_long_rows(grade: Grader, columns: int) -> None:
    """A threadgroup has 1024 threads at most, so a thread takes several numbers."""
    _assert_normalises(grade, _rows((1, columns)))


@pytest.mark.parametrize(
    ("size", "eps"), [(1e-4, 1e-6), (1e-3, 1e-6), (1e-2, 1e-6), (0.1, 1e-2)]
)
def test_task_1_norm_adds_eps_to_the_mean_square(
    grade: Grader, size: float, eps: float
) -> None:
    """Rows so small that eps decides, on both sides of sqrt(eps)."""
    _assert_normalises(grade, normal(4, 19, scale=size), eps)


def test_task_1_norm_keeps_a_row_of_zeros(grade: Grader) -> None:
    _assert_normalises(grade, mx.concatenate([mx.zeros((1, 40)), normal(2, 40)]))


@pytest.mark.parametrize("size", [100, 1000, 15000])
def test_task_1_norm_squares_in_float32(grade: Grader, size: float) -> None:
    """The square of a float16 overflows from 256 on, the sum of squares earlier."""
    _assert_normalises(grade, normal(3, 64, dtype=mx.float16, scale=size))


def test_task_1_norm_reads_rows_that_lie_apart(grade: Grader) -> None:
    """Part of the columns of a transposed matrix: a stride along each axis."""
    _assert_normalises(grade, normal(40, 6).T[:, 2:35:2])


@each_result
@each_shape
def test_task_2_sum_and_norm_agree_with_torch(
    grade: Grader, shape: tuple[int, ...], index: int
) -> None:
    _assert_adds(grade, _rows(shape), _rows(shape, name="residual"), index)


@each_half
@each_result
@pytest.mark.parametrize("shape", [(4, 31), (2, 3, 140)], ids=str)
def test_task_2_sum_and_norm_agree_in_half_precision(
    grade: Grader, shape: tuple[int, ...], index: int, dtype: mx.Dtype
) -> None:
    x, residual = _rows(shape, dtype), _rows(shape, dtype, "residual")

    _assert_adds(grade, x, residual, index)


@each_result
@pytest.mark.parametrize("columns", [896, 5000])
def test_task_2_sum_and_norm_agree_in_long_rows(
    grade: Grader, columns: int, index: int
) -> None:
    x, residual = _rows((1, columns)), _rows((1, columns), name="residual")

    _assert_adds(grade, x, residual, index)


@each_result
@pytest.mark.parametrize(("size", "eps"), [(1e-4, 1e-6), (1e-3, 1e-6), (0.1, 1e-2)])
def test_task_2_sum_and_norm_agree_where_eps_decides(
    grade: Grader, size: float, eps: float, index: int
) -> None:
    x = normal(4, 19, scale=size)
    residual = normal(4, 19, scale=size, name="residual")

    _assert_adds(grade, x, residual, index, eps)


@each_result
def test_task_2_sum_and_norm_agree_where_both_cancel(grade: Grader, index: int) -> None:
    """The sum has a row of zeros, and neither input does."""
    x = _rows((3, 40))
    residual = mx.concatenate([-x[:1], _rows((2, 40), name="residual")])

    _assert_adds(grade, x, residual, index)


@each_result
@pytest.mark.parametrize("size", [100, 1000, 10000])
def test_task_2_sum_and_norm_are_computed_in_float32(
    grade: Grader, size: float, index: int
) -> None:
    x = normal(3, 64, dtype=mx.float16, scale=size)
    residual = normal(3, 64, dtype=mx.float16, scale=size, name="residual")

    _assert_adds(grade, x, residual, index)


@each_result
def test_task_2_sum_and_norm_read_rows_that_lie_apart(
    grade: Grader, index: int
) -> None:
    x = normal(40, 6).T[:, 2:35:2]
    residual = mx.broadcast_to(normal(17, name="residual"), (6, 17))

    _assert_adds(grade, x, residual, index)


@pytest.mark.parametrize(
    "shape",
    [(1, 5, 1, 2), (2, 4, 3, 8), (3, 1, 2, 6), (2, 3, 3, 34), (1, 3, 14, 64)],
    ids=str,
)
def test_task_3_agrees_with_complex_numbers(
    grade: Grader, shape: tuple[int, ...]
) -> None:
    """One case is a batch whose sequences all begin at the same position."""
    _assert_rotates(grade, normal(*shape))


@each_half
def test_task_3_agrees_in_half_precision(grade: Grader, dtype: mx.Dtype) -> None:
    _assert_rotates(grade, normal(2, 3, 3, 34, dtype=dtype), 20)


@pytest.mark.parametrize("offset", [1, 7, 1023, 1024, 5000])
def test_task_3_starts_at_the_offset(grade: Grader, offset: int) -> None:
    _assert_rotates(grade, normal(2, 4, 3, 8), offset)


@pytest.mark.parametrize("base", [100.0, 500.5, 1000000.0])
def test_task_3_uses_the_base_it_is_given(grade: Grader, base: float) -> None:
    _assert_rotates(grade, normal(1, 6, 2, 8), 3, base)


@each_dtype
def test_task_3_is_exact_at_the_last_position_of_qwen2(
    grade: Grader, dtype: mx.Dtype
) -> None:
    _assert_rotates(grade, normal(1, 2, 2, 64, dtype=dtype), 32766, 1000000.0)


def test_task_3_reads_heads_that_lie_apart(grade: Grader) -> None:
    """A single product for queries, keys and values leaves the keys in this layout."""
    _assert_rotates(grade, normal(2, 5, 7, 16)[:, :, 3:5], 9)


@each_dtype
@pytest.mark.parametrize(("length", "eps"), [(1, 1e-6), (3, 1e-2)])
def test_task_4_norm_normalises_the_stream(
    grade: Grader, length: int, eps: float, dtype: mx.Dtype
) -> None:
    """One new token and several, small ones, so that eps decides."""
    x, weight = normal(1, length, 144, dtype=dtype, scale=0.02), gain(144, dtype)

    call = Call(NORM, (x, weight, eps))

    grade.assert_close(call, layer_norm.rms_norm(x, weight, eps), dtype)


def test_task_4_norm_keeps_the_dtype_of_the_stream(grade: Grader) -> None:
    """The gains of a checkpoint may have another one."""
    x, weight = normal(2, 3, 64, dtype=mx.float16), gain(64)

    call = Call(NORM, (x, weight, 1e-6))

    grade.assert_close(call, layer_norm.rms_norm(x, weight, 1e-6), mx.float16)


@each_dtype
@pytest.mark.parametrize(("offset", "theta"), [(0, 10000.0), (17, 1000000)])
def test_task_4_rotate_turns_queries_and_keys(
    grade: Grader, offset: int, theta: float, dtype: mx.Dtype
) -> None:
    """With as many tokens as heads, taking one axis for the other shows."""
    x = normal(2, 3, 3, 34, dtype=dtype)

    _assert_rotates(grade, x, offset, theta, ROTATE)


def _rows(
    shape: tuple[int, ...], dtype: mx.Dtype = mx.float32, name: str = ""
) -> mx.array:
    """Draw rows of different magnitudes and nonzero means."""
    shifts = normal(*shape[:-1], 1, dtype=dtype, name=name)
    return normal(*shape, dtype=dtype, name=name) + shifts


def _assert_normalises(grade: Grader, x: mx.array, eps: float = 1e-6) -> None:
    """Normalise, and compare with PyTorch."""
    weight = gain(x.shape[-1], x.dtype)

    call = Call(RMS_NORM, (x, weight, eps))

    grade.assert_close(call, layer_norm.rms_norm(x, weight, eps), x.dtype)


def _assert_adds(
    grade: Grader, x: mx.array, residual: mx.array, index: int, eps: float = 1e-6
) -> None:
    """Add and normalise, and compare one of both results with PyTorch."""
    weight = gain(x.shape[-1], x.dtype)

    call = OneOf(ADD_RMS_NORM, (x, residual, weight, eps), index=index, names=RESULTS)

    truth = (
        fused.added(x, residual)
        if index == 0
        else fused.add_rms_norm(x, residual, weight, eps)
    )
    grade.assert_close(call, truth, x.dtype)


def _assert_rotates(
    grade: Grader,
    x: mx.array,
    offset: int = 0,
    base: float = 10000.0,
    symbol: str = ROPE,
) -> None:
    """Rotate `x` from a position on, and compare with complex numbers."""
    batch, length = x.shape[:2]

    call = Call(symbol, (x, offset, base))

    positions = [range(offset, offset + length)] * batch
    expected = positional_encoding.rope(x, positions, base=base, traditional=False)
    grade.assert_close(call, expected, x.dtype)
