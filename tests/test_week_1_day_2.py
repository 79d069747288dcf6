"""Week 1, day 2: rotary position embedding, with neighbouring pairs and with halves.

The chapter: book/en/week-1-day-2-rope.md
"""

import mlx.core as mx
import pytest

from tiny_llm_course.grading.call import Call
from tiny_llm_course.grading.grader import Grader
from tiny_llm_course.grading.inputs import each_dtype, normal
from tiny_llm_course.oracle.kept import positional_encoding

ROPE = "positional_encoding.RoPE"

SHAPES = [(1, 5, 1, 2), (2, 4, 3, 8), (3, 1, 2, 6), (1, 3, 14, 64)]


def _assert_rotates(
    grade: Grader,
    x: mx.array,
    *,
    traditional: bool,
    offset: slice | list[slice] | None = None,
    seq_len: int = 64,
    base: int = 10000,
) -> None:
    """Rotate `x` from the given positions on, and compare with complex numbers."""
    batch, length, _, dims = x.shape
    args = (x,) if offset is None else (x, offset)
    call = Call(ROPE, args, build=(dims, seq_len, base, traditional))

    first = slice(0, length) if offset is None else offset
    slices = first if isinstance(first, list) else [first] * batch
    positions = [range(one.start, one.stop) for one in slices]
    expected = positional_encoding.rope(
        x, positions, base=base, traditional=traditional
    )
    grade.assert_close(call, expected, x.dtype)


@each_dtype
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_task_1_agrees_with_complex_numbers(
    grade: Grader, shape: tuple[int, ...], dtype: mx.Dtype
) -> None:
    _assert_rotates(grade, normal(*shape, dtype=dtype), traditional=True)


@each_dtype
def test_task_1_starts_at_the_offset(grade: Grader, dtype: mx.Dtype) -> None:
    """The positions that a cache has already seen come first."""
    x = normal(2, 4, 3, 8, dtype=dtype)

    _assert_rotates(grade, x, traditional=True, offset=slice(7, 11))


def test_task_1_gives_each_sequence_its_own_offset(grade: Grader) -> None:
    x = normal(3, 4, 2, 8)
    offsets = [slice(5, 9), slice(0, 4), slice(60, 64)]

    _assert_rotates(grade, x, traditional=True, offset=offsets)


@pytest.mark.parametrize("base", [100, 1000000])
def test_task_1_uses_the_base_it_is_given(grade: Grader, base: int) -> None:
    _assert_rotates(grade, normal(1, 6, 2, 8), traditional=True, base=base)


@each_dtype
def test_task_1_is_exact_far_into_a_text(grade: Grader, dtype: mx.Dtype) -> None:
    """In half precision the positions themselves are rounded, and the angles more."""
    x = normal(1, 3, 2, 16, dtype=dtype)

    _assert_rotates(grade, x, traditional=True, offset=slice(8189, 8192), seq_len=8192)


@each_dtype
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_task_2_agrees_with_complex_numbers(
    grade: Grader, shape: tuple[int, ...], dtype: mx.Dtype
) -> None:
    _assert_rotates(grade, normal(*shape, dtype=dtype), traditional=False)


@each_dtype
def test_task_2_starts_at_the_offset(grade: Grader, dtype: mx.Dtype) -> None:
    x = normal(2, 4, 3, 8, dtype=dtype)

    _assert_rotates(grade, x, traditional=False, offset=slice(7, 11))


def test_task_2_gives_each_sequence_its_own_offset(grade: Grader) -> None:
    x = normal(3, 4, 2, 8)
    offsets = [slice(5, 9), slice(0, 4), slice(60, 64)]

    _assert_rotates(grade, x, traditional=False, offset=offsets)


@pytest.mark.parametrize("base", [100, 1000000])
def test_task_2_uses_the_base_it_is_given(grade: Grader, base: int) -> None:
    _assert_rotates(grade, normal(1, 6, 2, 8), traditional=False, base=base)


def test_task_2_is_what_it_does_by_default(grade: Grader) -> None:
    """With base 10000."""
    x = normal(1, 6, 2, 8)
    call = Call(ROPE, (x,), build=(8, 64))

    positions = [range(6)]
    expected = positional_encoding.rope(x, positions, base=10000, traditional=False)
    grade.assert_close(call, expected, x.dtype)


@each_dtype
def test_task_2_is_exact_at_the_last_position_of_qwen2(
    grade: Grader, dtype: mx.Dtype
) -> None:
    x = normal(1, 2, 2, 64, dtype=dtype)

    _assert_rotates(
        grade,
        x,
        traditional=False,
        offset=slice(32766, 32768),
        seq_len=32768,
        base=1000000,
    )
