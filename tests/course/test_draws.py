"""The grader counts what a sampler draws, and explains shares that are wrong."""

from collections.abc import Callable

import mlx.core as mx
import numpy as np
import pytest
from numpy.typing import NDArray

from tiny_llm_course.grading.judgement.call import Call
from tiny_llm_course.grading.judgement.grader import Grader
from tiny_llm_course.grading.judgement.verdict import WrongError
from tiny_llm_course.oracle import sampler

PROBABILITIES = [[0.1, 0.4, 0.05, 0.3, 0.15], [0.35, 0.02, 0.5, 0.03, 0.1]]
DRAWS = """
def make_sampler(temp, top_p, top_k):
    def sample(log_probabilities):
        {code}
    return sample
"""


def assert_drawn(
    with_files: Callable[..., Grader],
    code: str,
    expected: NDArray[np.float64] | None = None,
    seed: int = 0,
) -> None:
    """Judge a sampler as the tests of day 7 do."""
    mx.random.seed(seed)
    rows = sampler.repeated_rows(PROBABILITIES)
    call = Call("sampler.make_sampler", (rows,), {}, (1, 1, 0), times=sampler.NUM_CALLS)

    with_files(sampler=DRAWS.format(code=code)).assert_drawn(
        call, np.array(PROBABILITIES) if expected is None else expected
    )


@pytest.mark.parametrize(
    "result",
    [
        "ids",
        "ids.tolist()",
        "list(ids)",
        "ids.astype(mx.int32)",
        "ids.astype(mx.bfloat16)",
        "np.array(ids)",
    ],
)
def test_ids_are_right_in_any_container(
    with_files: Callable[..., Grader], result: str
) -> None:
    code = f"ids = mx.random.categorical(log_probabilities); return {result}"

    assert_drawn(with_files, code)


@pytest.mark.parametrize("seed", range(10))
def test_right_shares_are_accepted_whatever_the_seed(
    with_files: Callable[..., Grader], seed: int
) -> None:
    code = "return mx.random.categorical(log_probabilities)"

    assert_drawn(with_files, code, seed=seed)


def test_of_many_tokens_those_are_shown_that_are_furthest_off(
    with_files: Callable[..., Grader],
) -> None:
    """All 400 of them would fill screens."""
    rows = mx.log(mx.full((1, 400), 1 / 400))
    call = Call("sampler.make_sampler", (rows,), {}, (1, 1, 0), times=100)
    code = "return mx.array([7])"

    with pytest.raises(WrongError) as caught:
        with_files(sampler=DRAWS.format(code=code)).assert_drawn(
            call, np.full((1, 400), 1 / 400)
        )

    shown = str(caught.value)
    assert "of the 400 tokens of row 0, those that are furthest off: [0, 1," in shown
    assert "drew them in shares of [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]" in shown


@pytest.mark.parametrize(("more", "less"), [(0, 1), (2, 0), (1, 3), (4, 2)])
def test_a_share_that_is_wrong_by_0_03_is_noticed(
    with_files: Callable[..., Grader], more: int, less: int
) -> None:
    code = "return mx.random.categorical(log_probabilities)"
    expected = np.array(PROBABILITIES)
    expected[0, more] += 0.03
    expected[0, less] -= 0.03

    with pytest.raises(WrongError, match="expected to draw the tokens in shares of"):
        assert_drawn(with_files, code, expected)


def test_a_token_that_was_dropped_is_noticed_when_drawn_once(
    with_files: Callable[..., Grader],
) -> None:
    code = "return mx.random.categorical(log_probabilities)"
    expected = np.array(PROBABILITIES)
    expected[1] = [0.35, 0, 0.52, 0.03, 0.1]

    with pytest.raises(WrongError, match="row 1 has the probabilities"):
        assert_drawn(with_files, code, expected)


@pytest.mark.parametrize(
    ("code", "complaint"),
    [
        ("return mx.argmax(log_probabilities)", "expected 400 ids, got shape ()"),
        ("pass", "expected 400 ids, got shape ()"),
        ("return log_probabilities", "expected 400 ids, got shape (400, 5)"),
        ("return mx.full(400, 5)", "expected ids from 0 to 4, got 5"),
        ("return [-1] * 400", "expected ids from 0 to 4, got -1"),
    ],
)
def test_what_is_no_id_for_each_row_is_wrong(
    with_files: Callable[..., Grader], code: str, complaint: str
) -> None:
    with pytest.raises(WrongError) as verdict:
        assert_drawn(with_files, code)

    assert str(verdict.value) == (
        f"make_sampler(1, 1, 0)(float32[400, 5])\n  {complaint}"
    )
