"""How a wrong output is described when no known mistake explains it."""

import mlx.core as mx
import numpy as np
import pytest

from tiny_llm_course.grading.closeness import Truth
from tiny_llm_course.grading.symptoms import describe

RIGHT = np.array([[1.0, -2.0, 3.0], [0.5, 4.0, -1.5], [2.0, 0.25, 5.0]])


def _described(values: object) -> str | None:
    got = mx.array(np.array(values, dtype=np.float32))
    return describe(got, Truth(RIGHT, np.abs(RIGHT)))


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (RIGHT * 1.5, "every entry is 1.5 times what it should be"),
        (-RIGHT, "every entry is -1 times what it should be"),
        (RIGHT + 0.75, "every entry is 0.75 more than it should be"),
        (RIGHT * 0, "every entry is 0"),
        (RIGHT.T, "this is the right answer with its last two axes swapped"),
        (RIGHT[::-1], "these are the right numbers, in other places"),
        (
            np.where(np.arange(3) >= 1, RIGHT**2 + 3, RIGHT),
            "only wrong from index 1 on along axis 1",
        ),
        (
            np.where(np.arange(3) <= 1, RIGHT**2 + 3, RIGHT),
            "only wrong up to index 1 along axis 1",
        ),
        (
            np.where(np.arange(3)[:, None] == 1, RIGHT**2 + 3, RIGHT),
            "only wrong at 1 along axis 0, of 3",
        ),
        (
            np.where(np.arange(3) == 2, np.nan, RIGHT),
            "3 of 9 entries are NaN or infinite, the first at [0, 2]",
        ),
    ],
)
def test_pattern_is_named(values: object, expected: str) -> None:
    assert _described(values) == expected


def test_noise_everywhere_has_no_pattern() -> None:
    noise = np.random.default_rng(0).normal(size=RIGHT.shape)

    assert _described(RIGHT + noise) is None


def test_infinity_where_it_belongs_is_no_symptom() -> None:
    """A mask has -inf in many places, and may be wrong in another."""
    mask = np.array([[0.0, -np.inf], [0.0, 0.0]])
    got = mx.array(np.array([[0.0, -np.inf], [-np.inf, 0.0]], dtype=np.float32))

    described = describe(got, Truth(mask, np.zeros_like(mask)))

    assert described == "1 of 4 entries are NaN or infinite, the first at [1, 0]"
