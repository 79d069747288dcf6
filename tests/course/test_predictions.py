"""Which predictions count as nearly the same, and which do not."""

import mlx.core as mx
import numpy as np
import pytest

from tiny_llm_course.grading.judgement.predictions import nearness

TRUTH = np.log(np.array([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8]]))


def test_a_constant_added_to_logits_changes_nothing() -> None:
    near = nearness(mx.array(TRUTH + 7.0).astype(mx.float32), TRUTH)

    assert near.divergence == pytest.approx(0.0, abs=1e-6)
    assert near.agreement == 1.0
    assert near.is_near


def test_the_divergence_is_that_of_kullback_and_leibler() -> None:
    near = nearness(mx.zeros((2, 3)), TRUTH)

    # ln 3 less the entropy of each row, on average.
    first = np.log(3) - (0.5 * np.log(2) - 0.3 * np.log(0.3) - 0.2 * np.log(0.2))
    second = np.log(3) + 0.2 * np.log(0.1) + 0.8 * np.log(0.8)
    assert near.divergence == pytest.approx((first + second) / 2, rel=1e-6)
    assert near.agreement == 0.5
    assert not near.is_near


def test_another_likeliest_token_is_not_near_however_small_the_divergence() -> None:
    truth = np.array([[0.0, 1e-4]] * 10)
    logits = mx.array([[1e-4, 0.0]] + [[0.0, 1e-4]] * 9)

    near = nearness(logits, truth)

    assert near.divergence < 1e-6
    assert near.agreement == pytest.approx(0.9)
    assert not near.is_near


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_what_is_not_finite_is_far(wrong: float) -> None:
    logits = mx.array([[wrong, 0.0, 0.0], [0.0, 0.0, 1.0]])

    assert not nearness(logits, TRUTH).is_near
