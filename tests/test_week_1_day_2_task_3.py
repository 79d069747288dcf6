"""Week 1, day 2, task 3: sinusoidal positions.

The chapter: book/en/week-1-day-2-rope.md
"""

import mlx.core as mx
import pytest

from tiny_llm_course.grading.judgement.call import Call
from tiny_llm_course.grading.judgement.grader import Grader
from tiny_llm_course.oracle.cached import positional_encoding

SINUSOIDS = "positional_encoding.sinusoidal_positions"


def _assert_agrees(grade: Grader, call: Call, base: float) -> None:
    """Compare with PyTorch in float64; the result has to be float32."""
    expected = positional_encoding.sinusoidal_positions(*call.args[:2], base)
    grade.assert_close(call, expected, mx.float32)


@pytest.mark.parametrize(
    ("num_positions", "dim"),
    [(1, 2), (1, 6), (9, 2), (4, 4), (7, 6), (6, 7 * 2), (50, 64), (3, 896)],
)
def test_task_3_agrees_with_torch(grade: Grader, num_positions: int, dim: int) -> None:
    _assert_agrees(grade, Call(SINUSOIDS, (num_positions, dim, 10000)), 10000)


@pytest.mark.parametrize("base", [1, 100, 1000000])
def test_task_3_uses_the_base_it_is_given(grade: Grader, base: int) -> None:
    _assert_agrees(grade, Call(SINUSOIDS, (6, 8, base)), base)


def test_task_3_has_a_base_of_10000_when_none_is_given(grade: Grader) -> None:
    _assert_agrees(grade, Call(SINUSOIDS, (6, 8)), 10000)


@pytest.mark.parametrize(("num_positions", "dim"), [(4099, 6), (32768, 4)])
def test_task_3_is_exact_far_into_a_text(
    grade: Grader, num_positions: int, dim: int
) -> None:
    """Half precision cannot tell neighbouring positions apart here."""
    _assert_agrees(grade, Call(SINUSOIDS, (num_positions, dim, 10000)), 10000)
