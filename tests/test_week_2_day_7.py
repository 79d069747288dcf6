"""Week 2, day 7: fused kernels, and the model with everything on.

The chapter: book/en/week-2-day-7-fused-kernels.md
"""

import mlx.core as mx
import pytest

from tiny_llm_course.grading.call import Call
from tiny_llm_course.grading.grader import Grader
from tiny_llm_course.grading.inputs import each_dtype, gain, normal
from tiny_llm_course.grading.several import OneOf
from tiny_llm_course.oracle import fused, layer_norm, positional_encoding

RMS_NORM = "kernels.rms_norm"
ADD_RMS_NORM = "kernels.add_rms_norm"
ROPE = "kernels.rope"
SWIGLU = "kernels.swiglu"

RESULTS = ("the sum", "the norm of the sum")

each_result = pytest.mark.parametrize("index", [0, 1], ids=["sum", "norm"])
"""Runs a test for what `add_rms_norm` returns first, and for what it returns second."""

each_shape = pytest.mark.parametrize(
    "shape",
    [(8,), (1,), (3, 7), (3, 17), (2, 4, 1), (5, 64), (2, 1, 3, 33), (2, 896)],
    ids=str,
)


@each_dtype
@each_shape
def test_task_1_norm_agrees_with_torch(
    grade: Grader, shape: tuple[int, ...], dtype: mx.Dtype
) -> None:
    """Lengths that fill vector registers, and lengths that leave a rest."""
    x = _rows(shape, dtype)
    weight = gain(shape[-1], dtype)

    call = Call(RMS_NORM, (x, weight, 1e-6))

    grade.assert_close(call, layer_norm.rms_norm(x, weight, 1e-6), dtype)


@each_dtype
@pytest.mark.parametrize(
    ("size", "eps"), [(1e-4, 1e-6), (1e-3, 1e-6), (1e-2, 1e-6), (0.1, 1e-2)]
)
def test_task_1_norm_adds_eps_to_the_mean_square(
    grade: Grader, size: float, eps: float, dtype: mx.Dtype
) -> None:
    """Rows so small that eps decides, on both sides of its root."""
    x = normal(4, 19, dtype=dtype, scale=size)
    weight = gain(19, dtype)

    call = Call(RMS_NORM, (x, weight, eps))

    grade.assert_close(call, layer_norm.rms_norm(x, weight, eps), dtype)


@each_dtype
def test_task_1_norm_keeps_a_row_of_zeros(grade: Grader, dtype: mx.Dtype) -> None:
    x = mx.concatenate([mx.zeros((1, 6)), normal(2, 6)]).astype(dtype)
    weight = gain(6, dtype)

    call = Call(RMS_NORM, (x, weight, 1e-6))

    grade.assert_close(call, layer_norm.rms_norm(x, weight, 1e-6), dtype)


@pytest.mark.parametrize("size", [100, 1000, 15000])
def test_task_1_norm_squares_in_float32(grade: Grader, size: float) -> None:
    """The square of a float16 overflows from 256 on, the sum of squares earlier."""
    x = normal(3, 64, dtype=mx.float16, scale=size)
    weight = gain(64, mx.float16)

    call = Call(RMS_NORM, (x, weight, 1e-6))

    grade.assert_close(call, layer_norm.rms_norm(x, weight, 1e-6), mx.float16)


@pytest.mark.parametrize("rows", [(64,), (3, 100)], ids=str)
def test_task_1_norm_agrees_where_threads_share_the_rows(
    grade: Grader, rows: tuple[int, ...]
) -> None:
    x = _rows((*rows, 896), mx.float32)
    weight = gain(896)

    call = Call(RMS_NORM, (x, weight, 1e-6))

    grade.assert_close(call, layer_norm.rms_norm(x, weight, 1e-6), mx.float32)


def test_task_1_norm_reads_rows_that_lie_apart(grade: Grader) -> None:
    """Part of the columns of a transposed matrix: a stride along each axis."""
    x = normal(40, 6).T[:, 2:35:2]
    weight = gain(17)

    call = Call(RMS_NORM, (x, weight, 1e-6))

    grade.assert_close(call, layer_norm.rms_norm(x, weight, 1e-6), mx.float32)


@each_dtype
@each_result
@each_shape
def test_task_1_sum_and_norm_agree_with_torch(
    grade: Grader, shape: tuple[int, ...], index: int, dtype: mx.Dtype
) -> None:
    x, residual = _rows(shape, dtype), _rows(shape, dtype, "residual")

    _assert_adds(grade, x, residual, index)


@each_dtype
@each_result
@pytest.mark.parametrize(
    ("size", "eps"), [(1e-4, 1e-6), (1e-3, 1e-6), (1e-2, 1e-6), (0.1, 1e-2)]
)
def test_task_1_sum_and_norm_agree_where_eps_decides(
    grade: Grader, size: float, eps: float, index: int, dtype: mx.Dtype
) -> None:
    x = normal(4, 19, dtype=dtype, scale=size)
    residual = normal(4, 19, dtype=dtype, scale=size, name="residual")

    _assert_adds(grade, x, residual, index, eps)


@each_result
def test_task_1_sum_and_norm_agree_where_both_cancel(grade: Grader, index: int) -> None:
    """A row of zeros that neither input has."""
    x = _rows((3, 17), mx.float32)
    residual = mx.concatenate([-x[:1], _rows((2, 17), mx.float32, "residual")])

    _assert_adds(grade, x, residual, index)


@each_result
@pytest.mark.parametrize("size", [100, 1000, 10000])
def test_task_1_sum_and_norm_are_computed_in_float32(
    grade: Grader, size: float, index: int
) -> None:
    x = normal(3, 64, dtype=mx.float16, scale=size)
    residual = normal(3, 64, dtype=mx.float16, scale=size, name="residual")

    _assert_adds(grade, x, residual, index)


@each_result
def test_task_1_sum_and_norm_agree_where_threads_share_the_rows(
    grade: Grader, index: int
) -> None:
    x, residual = _rows((64, 896), mx.float32), _rows((64, 896), mx.float32, "other")

    _assert_adds(grade, x, residual, index)


@each_result
def test_task_1_sum_and_norm_read_rows_that_lie_apart(
    grade: Grader, index: int
) -> None:
    x = normal(40, 6).T[:, 2:35:2]
    residual = mx.broadcast_to(normal(17, name="residual"), (6, 17))

    _assert_adds(grade, x, residual, index)


@each_dtype
@pytest.mark.parametrize(
    "shape",
    [(1, 5, 1, 2), (2, 4, 3, 8), (3, 1, 2, 6), (2, 3, 3, 34), (1, 3, 14, 64)],
    ids=str,
)
def test_task_2_agrees_with_complex_numbers(
    grade: Grader, shape: tuple[int, ...], dtype: mx.Dtype
) -> None:
    """Among them a batch, whose sequences all begin at the same position."""
    _assert_rotates(grade, normal(*shape, dtype=dtype))


@each_dtype
@pytest.mark.parametrize("offset", [1, 7, 1023, 1024, 5000])
def test_task_2_starts_at_the_offset(
    grade: Grader, offset: int, dtype: mx.Dtype
) -> None:
    _assert_rotates(grade, normal(2, 4, 3, 8, dtype=dtype), offset)


@pytest.mark.parametrize("base", [100.0, 500.5, 1000000.0])
def test_task_2_uses_the_base_it_is_given(grade: Grader, base: float) -> None:
    _assert_rotates(grade, normal(1, 6, 2, 8), 3, base)


@each_dtype
def test_task_2_is_exact_at_the_last_position_of_qwen2(
    grade: Grader, dtype: mx.Dtype
) -> None:
    _assert_rotates(grade, normal(1, 2, 2, 64, dtype=dtype), 32766, 1000000.0)


def test_task_2_agrees_where_threads_share_the_tokens(grade: Grader) -> None:
    _assert_rotates(grade, normal(2, 40, 14, 64), 100, 1000000.0)


def test_task_2_reads_heads_that_lie_apart(grade: Grader) -> None:
    """What a product for queries, keys and values at once leaves the keys in."""
    x = normal(2, 5, 7, 16)[:, :, 3:5]

    _assert_rotates(grade, x, 9)


@each_dtype
@pytest.mark.parametrize(
    "shape", [(), (1,), (5,), (2, 17), (3, 4, 7), (2, 2, 2, 3), (1, 1, 4864)], ids=str
)
def test_task_3_agrees_with_torch(
    grade: Grader, shape: tuple[int, ...], dtype: mx.Dtype
) -> None:
    gate = normal(*shape, dtype=dtype, scale=3, name="gate")
    up = normal(*shape, dtype=dtype, scale=3, name="up")

    _assert_gates(grade, gate, up)


@each_dtype
def test_task_3_has_a_dip_and_tails(grade: Grader, dtype: mx.Dtype) -> None:
    """From the least value of silu at -1.278 to where an exponential overflows."""
    dip = mx.linspace(-6, 6, 97)
    tails = mx.array([-1e4, -100.0, -88.0, -20.0, -11.0, 0.0, 11.0, 20.0, 90.0, 1e4])
    gate = mx.concatenate([dip, tails]).astype(dtype)

    _assert_gates(grade, gate, normal(gate.size, dtype=dtype))


def test_task_3_is_computed_in_float32(grade: Grader) -> None:
    """In float16 the gate would vanish here, or what passes it overflow."""
    gate = mx.linspace(-24, -8, 33).astype(mx.float16)
    up = normal(33, dtype=mx.float16, scale=20000)

    _assert_gates(grade, gate, mx.clip(up, -60000, 60000))


def test_task_3_agrees_where_threads_share_the_numbers(grade: Grader) -> None:
    gate, up = normal(9, 4864, name="gate"), normal(9, 4864, name="up")

    _assert_gates(grade, gate, up)


def test_task_3_reads_numbers_that_lie_apart(grade: Grader) -> None:
    """What a product for both at once leaves them in."""
    both = normal(3, 5, 2, 33)

    _assert_gates(grade, both[:, :, 0], both[:, :, 1])


def _rows(shape: tuple[int, ...], dtype: mx.Dtype, name: str = "") -> mx.array:
    """Draw rows of different size, none of mean zero."""
    shifts = normal(*shape[:-1], 1, dtype=dtype, name=name)
    return normal(*shape, dtype=dtype, name=name) + shifts


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
    grade: Grader, x: mx.array, offset: int = 0, base: float = 10000.0
) -> None:
    """Rotate `x` from a position on, and compare with complex numbers."""
    batch, length = x.shape[:2]

    call = Call(ROPE, (x, offset, base))

    positions = [range(offset, offset + length)] * batch
    expected = positional_encoding.rope(x, positions, base=base, traditional=False)
    grade.assert_close(call, expected, x.dtype)


def _assert_gates(grade: Grader, gate: mx.array, up: mx.array) -> None:
    """Gate, and compare with PyTorch."""
    call = Call(SWIGLU, (gate, up))

    grade.assert_close(call, fused.swiglu(gate, up), gate.dtype)
