"""Week 1, day 2: rotary position embedding, with neighbouring pairs and with halves.

The chapter: book/en/week-1-day-2-rope.md
"""

import mlx.core as mx
import pytest

from tiny_llm_course.grading.judgement.call import Call
from tiny_llm_course.grading.judgement.grader import Grader
from tiny_llm_course.grading.judgement.inputs import each_dtype, normal
from tiny_llm_course.oracle.cached import positional_encoding

ROPE = "positional_encoding.RoPE"

SHAPES = [(1, 5, 1, 2), (2, 4, 3, 8), (3, 1, 2, 6), (1, 3, 14, 64)]


def _assert_rotates(
    grade: Grader,
    x: mx.array,
    *,
    traditional: bool,
    offset: slice | None = None,
    seq_len: int = 64,
    base: int = 10000,
) -> None:
    """Rotate `x` from the given positions on, and compare with complex numbers."""
    dims = x.shape[-1]
    args = (x,) if offset is None else (x, offset)
    call = Call(ROPE, args, build=(dims, seq_len, base, traditional))

    first = offset.start if offset else 0
    _assert_rotated(grade, call, first=first, base=base, traditional=traditional)


def _assert_rotated(
    grade: Grader, call: Call, *, first: int = 0, base: int, traditional: bool
) -> None:
    """Compare the result of a call with complex numbers, from position `first` on."""
    x: mx.array = call.args[0]
    positions = [range(first, first + x.shape[1])] * x.shape[0]
    expected = positional_encoding.rope(
        x, positions, base=base, traditional=traditional
    )
    grade.assert_close(call, expected, x.dtype)


def _assert_knows_its_arguments_by_name(grade: Grader, *, traditional: bool) -> None:
    """Pass the arguments by the names in the stub."""
    x = normal(1, 4, 2, 8)
    named = {"dims": 8, "seq_len": 64, "base": 100, "traditional": traditional}
    call = Call(ROPE, (x,), {"offset": slice(7, 11)}, build=(), named=named)

    _assert_rotated(grade, call, first=7, base=100, traditional=traditional)


each_call_before = pytest.mark.parametrize(
    "before", ["another length", "further on", "half precision"]
)


def _assert_begins_anew(grade: Grader, before: str, *, traditional: bool) -> None:
    """Rotate two texts with one object, the first token of the second at position 0."""
    x = normal(1, 4, 2, 8)
    first = {
        "another length": (normal(2, 3, 2, 8),),
        "further on": (x, slice(7, 11)),
        "half precision": (x.astype(mx.float16),),
    }[before]
    call = Call(ROPE, (x,), build=(8, 64, 10000, traditional), earlier=(first,))

    _assert_rotated(grade, call, base=10000, traditional=traditional)


@each_dtype
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_task_1_agrees_with_complex_numbers(
    grade: Grader, shape: tuple[int, ...], dtype: mx.Dtype
) -> None:
    _assert_rotates(grade, normal(*shape, dtype=dtype), traditional=True)


@each_dtype
def test_task_1_starts_at_the_offset(grade: Grader, dtype: mx.Dtype) -> None:
    """The positions before the offset are those of tokens in a cache."""
    x = normal(2, 4, 3, 8, dtype=dtype)

    _assert_rotates(grade, x, traditional=True, offset=slice(7, 11))


@each_call_before
def test_task_1_begins_anew_at_every_call(grade: Grader, before: str) -> None:
    """Nothing is remembered from one call to the next."""
    _assert_begins_anew(grade, before, traditional=True)


def test_task_1_knows_its_arguments_by_name(grade: Grader) -> None:
    _assert_knows_its_arguments_by_name(grade, traditional=True)


@pytest.mark.parametrize("base", [100, 1000000])
def test_task_1_uses_the_base_it_is_given(grade: Grader, base: int) -> None:
    _assert_rotates(grade, normal(1, 6, 2, 8), traditional=True, base=base)


@each_dtype
def test_task_1_is_exact_far_into_a_text(grade: Grader, dtype: mx.Dtype) -> None:
    """In half precision the positions themselves are rounded, and the angles more.

    The heads are narrow, so that a table that is filled in a loop is soon full.
    """
    x = normal(1, 3, 2, 4, dtype=dtype)

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


@each_call_before
def test_task_2_begins_anew_at_every_call(grade: Grader, before: str) -> None:
    """Nothing is remembered from one call to the next."""
    _assert_begins_anew(grade, before, traditional=False)


def test_task_2_knows_its_arguments_by_name(grade: Grader) -> None:
    _assert_knows_its_arguments_by_name(grade, traditional=False)


@pytest.mark.parametrize("base", [100, 1000000])
def test_task_2_uses_the_base_it_is_given(grade: Grader, base: int) -> None:
    _assert_rotates(grade, normal(1, 6, 2, 8), traditional=False, base=base)


def test_task_2_is_what_it_does_by_default(grade: Grader) -> None:
    """The defaults are halves, and base 10000."""
    x = normal(1, 6, 2, 8)
    call = Call(ROPE, (x,), build=(8, 64))

    positions = [range(6)]
    expected = positional_encoding.rope(x, positions, base=10000, traditional=False)
    grade.assert_close(call, expected, x.dtype)


@each_dtype
def test_task_2_is_exact_at_the_last_position_of_qwen2(
    grade: Grader, dtype: mx.Dtype
) -> None:
    x = normal(1, 2, 2, 4, dtype=dtype)

    _assert_rotates(
        grade,
        x,
        traditional=False,
        offset=slice(32766, 32768),
        seq_len=32768,
        base=1000000,
    )
