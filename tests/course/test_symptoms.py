"""How a wrong output is described when no known mistake explains it."""

import mlx.core as mx
import numpy as np
import pytest

from tiny_llm_course.grading.diagnosis.symptoms import (
    describe,
    describe_shares,
    describe_value,
)
from tiny_llm_course.grading.judgement.closeness import Truth

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


SHARES = np.array([[0.1, 0.4, 0.0, 0.5], [0.3, 0.0, 0.6, 0.1]])


@pytest.mark.parametrize(
    ("got", "says"),
    [
        (np.eye(4)[[0, 0]], "nothing is left"),
        (SHARES[[0, 0]], "rows are drawn from alike"),
        (np.eye(4)[[3, 2]], "one token always"),
        (
            np.array([[0.1, 0.4, 0.1, 0.4], [0.3, 0.0, 0.6, 0.1]]),
            "row 0 token 2 comes up, which should have been dropped",
        ),
        (
            np.array([[0.1, 0.4, 0.0, 0.5], [0.0, 0.0, 0.8, 0.2]]),
            "row 1 token 0 never comes up",
        ),
        (
            SHARES**2 / np.sum(SHARES**2, axis=-1, keepdims=True),
            "a temperature 0.5 times as\nhigh",
        ),
    ],
)
def test_shares_of_tokens_are_described(got: np.ndarray, says: str) -> None:
    assert says in (describe_shares(got, SHARES) or "")


def test_right_shares_are_not_described() -> None:
    assert describe_shares(SHARES, SHARES) is None


@pytest.mark.parametrize(
    ("shape", "says"),
    [
        ((1, 3, 3), "an axis of length 1 too many"),
        ((3, 4), "axis 1 has 4 entries, and should have 3"),
        ((9,), "cut into other axes"),
        ((3,), "an axis is lost"),
        ((3, 5, 3), "spread out"),
    ],
)
def test_a_wrong_shape_is_described(shape: tuple[int, ...], says: str) -> None:
    got = mx.zeros(shape)

    assert says in (describe(got, Truth(RIGHT, np.abs(RIGHT))) or "")


@pytest.mark.parametrize(
    ("got", "expected", "says"),
    [
        ("", " upon", "the text is empty"),
        ("<end>", "", "no text at all"),
        ("Once upon", " upon", "with 'Once' before it"),
        (" upon<end>", " upon", "with '<end>' after it"),
        ("Once upon<end>", " upon", "with 'Once' before it and '<end>' after it"),
        (" upon a", " upon a time", "breaks off after 7 of 12 characters"),
        ("a time", " upon a time", "the first 6 characters are missing"),
        (" upon????", " upon a time", "right up to ' upon', and wrong"),
        (3.0, 1.5, "2 times what it should be"),
        ([65], "A", "a `list`, and a `str` is expected"),
    ],
)
def test_a_text_or_a_number_is_described(
    got: object, expected: object, says: str
) -> None:
    assert says in (describe_value(got, expected) or "")


def test_a_text_that_is_like_nothing_is_not_described() -> None:
    assert describe_value("xyz", " upon a time") is None
