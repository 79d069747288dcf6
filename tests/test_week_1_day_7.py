"""Week 1, day 7: sampling with temperature, top-k and top-p.

The chapter: book/en/week-1-day-7-sampling.md
"""

from dataclasses import replace

import mlx.core as mx
import numpy as np
import pytest

from tiny_llm_course.catalogue import say
from tiny_llm_course.grading.judgement.call import Call
from tiny_llm_course.grading.judgement.grader import Grader
from tiny_llm_course.oracle.cached import sampler
from tiny_llm_course.oracle.sampler import NUM_CALLS, repeated_rows

MAKE_SAMPLER = "sampler.make_sampler"

SHUFFLED = [0.1, 0.4, 0.05, 0.3, 0.15]
"""Probabilities whose order is not that of the token ids."""

TWO_ROWS = [SHUFFLED, [0.35, 0.02, 0.5, 0.03, 0.1]]


def _assert_draws(
    grade: Grader,
    rows: list[list[float]],
    *,
    temp: float = 1.0,
    top_p: float | None = None,
    top_k: int | None = None,
    kept: list[set[int]] | None = None,
) -> None:
    """Draw many times from each row, and compare the shares with the expected ones.

    Args:
        grade: The grader.
        rows: Probabilities, one row per distribution.
        temp: Temperature.
        top_p: Probability to keep. None is off, as a task before top-p passes it.
        top_k: Number of tokens to keep.
        kept: The tokens of each row that may be drawn. None allows all.
    """
    call = _call(rows, temp, top_p, top_k, times=NUM_CALLS)

    shares = sampler.shares(rows, temp, kept or [set(range(len(rows[0])))] * len(rows))
    grade.assert_drawn(call, shares)


def _assert_draws_anew(
    grade: Grader,
    kept: list[set[int]],
    *,
    temp: float = 1.0,
    top_p: float | None = None,
    top_k: int | None = None,
) -> None:
    """Draw from `TWO_ROWS` with a sampler that has seen other rows before."""
    call = _call(TWO_ROWS, temp, top_p, top_k, times=NUM_CALLS)
    call = replace(call, earlier=((repeated_rows(TWO_ROWS[::-1]),),))

    grade.assert_drawn(call, sampler.shares(TWO_ROWS, temp, kept))


def _call(
    rows: list[list[float]],
    temp: float,
    top_p: float | None,
    top_k: int | None,
    times: int,
) -> Call:
    """Return a call that builds one sampler and uses it many times."""
    log_probabilities = repeated_rows(rows)
    build = (temp, top_p, top_k)
    return Call(MAKE_SAMPLER, (log_probabilities,), build=build, times=times)


@pytest.mark.parametrize("rows", [[SHUFFLED], TWO_ROWS], ids=["one row", "two rows"])
def test_task_1_temperature_0_takes_the_likeliest(
    grade: Grader, rows: list[list[float]]
) -> None:
    _assert_draws(grade, rows, temp=0, kept=[{1}, {2}][: len(rows)])


@pytest.mark.parametrize("temp", [0, 1.0])
def test_task_1_gives_integers(grade: Grader, temp: float) -> None:
    """The ids are looked up in the embedding table next."""
    call = _call([SHUFFLED], temp=temp, top_p=None, top_k=None, times=1)

    output = grade.run(call)

    # Converted through a list, which a right solution may return as well.
    ids = np.array(output.tolist() if isinstance(output, mx.array) else output)
    complaint = say("week_1_day_7.complaints.no_integers", got=ids.ravel()[:1].tolist())
    grade.assert_that(ids.dtype.kind in "iu", call, complaint)


def test_task_1_draws_anew_at_every_call(grade: Grader) -> None:
    """A seed set inside the sampler would give the same tokens each time."""
    call = _call([SHUFFLED], temp=1.0, top_p=None, top_k=None, times=2)

    first, second = map(np.array, grade.run(call))

    is_random = len(np.unique(first)) > 1
    repeats = is_random and np.array_equal(first, second)
    complaint = say("week_1_day_7.complaints.repeats")
    grade.assert_that(not repeats, call, complaint)


@pytest.mark.parametrize(
    ("temp", "kept"), [(0, [{1}, {2}]), (1.0, [set(range(5))] * 2)]
)
def test_task_1_looks_at_the_rows_of_each_call(
    grade: Grader, temp: float, kept: list[set[int]]
) -> None:
    """Nothing is remembered of the rows of the call before."""
    _assert_draws_anew(grade, kept, temp=temp)


def test_task_1_knows_its_arguments_by_name(grade: Grader) -> None:
    named = {"temp": 0.5, "top_p": None, "top_k": None}
    rows = repeated_rows(TWO_ROWS)
    call = Call(MAKE_SAMPLER, (rows,), build=(), named=named, times=NUM_CALLS)

    everything = [set(range(5))] * 2
    grade.assert_drawn(call, sampler.shares(TWO_ROWS, 0.5, everything))


@pytest.mark.parametrize("temp", [0.5, 0.8, 1.0, 2.0])
def test_task_1_temperature_sharpens_or_flattens(grade: Grader, temp: float) -> None:
    """The log-probabilities are divided by it."""
    _assert_draws(grade, TWO_ROWS, temp=temp)


@pytest.mark.parametrize(
    ("top_k", "kept"),
    [
        (3, [{1, 3, 4}, {2, 0, 4}]),
        (2, [{1, 3}, {2, 0}]),
        (1, [{1}, {2}]),
        (4, [{1, 3, 4, 0}, {2, 0, 4, 3}]),
    ],
)
def test_task_2_top_k_keeps_the_k_likeliest_of_each_row(
    grade: Grader, top_k: int, kept: list[set[int]]
) -> None:
    _assert_draws(grade, TWO_ROWS, top_k=top_k, kept=kept)


def test_task_2_top_k_chooses_anew_at_every_call(grade: Grader) -> None:
    """Other tokens are likely in the call before."""
    _assert_draws_anew(grade, [{1, 3}, {2, 0}], top_k=2)


def test_task_2_top_k_keeps_their_ratios_under_a_temperature(grade: Grader) -> None:
    kept = [{1, 3, 4}, {2, 0, 4}]

    _assert_draws(grade, TWO_ROWS, temp=1.7, top_k=3, kept=kept)


def test_task_2_top_k_is_no_use_at_temperature_0(grade: Grader) -> None:
    _assert_draws(grade, TWO_ROWS, temp=0, top_k=3, kept=[{1}, {2}])


@pytest.mark.parametrize("top_k", [5, 6, 1000])
def test_task_2_top_k_of_all_tokens_or_more_keeps_every_token(
    grade: Grader, top_k: int
) -> None:
    """There are 5 tokens. A larger top_k keeps them all."""
    _assert_draws(grade, TWO_ROWS, top_k=top_k)


@pytest.mark.parametrize("top_k", [None, 0])
def test_task_2_top_k_that_is_off_keeps_every_token(
    grade: Grader, top_k: int | None
) -> None:
    _assert_draws(grade, TWO_ROWS, top_k=top_k)


def test_task_2_top_k_that_is_off_keeps_every_token_of_many(grade: Grader) -> None:
    """There are more than 50, which is another library's default top_k."""
    _assert_draws(grade, [[*[0.0168] * 50, *[0.016] * 10]], top_k=None)


@pytest.mark.parametrize(
    ("top_p", "kept"),
    [
        (0.8, [{1, 3, 4}, {2, 0}]),
        (0.6, [{1, 3}, {2, 0}]),
        (0.45, [{1, 3}, {2}]),
        (0.97, [{1, 3, 4, 0, 2}, {2, 0, 4, 3}]),
        (0.01, [{1}, {2}]),
    ],
)
def test_task_3_top_p_keeps_the_token_that_crosses_the_threshold(
    grade: Grader, top_p: float, kept: list[set[int]]
) -> None:
    _assert_draws(grade, TWO_ROWS, top_p=top_p, kept=kept)


def test_task_3_top_p_chooses_anew_at_every_call(grade: Grader) -> None:
    """Other tokens are likely in the call before."""
    _assert_draws_anew(grade, [{1, 3, 4}, {2, 0}], top_p=0.8)


@pytest.mark.parametrize("temp", [0.3, 3.0])
def test_task_3_top_p_looks_at_probabilities_before_the_temperature(
    grade: Grader, temp: float
) -> None:
    """A temperature applied first would keep fewer tokens, or more."""
    kept = [{1, 3, 4}, {2, 0}]

    _assert_draws(grade, TWO_ROWS, temp=temp, top_p=0.8, kept=kept)


@pytest.mark.parametrize("top_p", [None, 0, 1, 1.0])
def test_task_3_top_p_that_is_off_keeps_every_token(
    grade: Grader, top_p: float | None
) -> None:
    _assert_draws(grade, TWO_ROWS, top_p=top_p)


def test_task_3_top_p_of_1_keeps_tokens_that_no_sum_can_see(grade: Grader) -> None:
    """In float32 the sum reaches 1 before the last tokens of a large vocabulary.

    A high temperature makes them likely again, if they are kept.
    """
    rows = [[1.0, 1e-10, 1e-9, 1e-12, 1e-11], [1e-11, 1e-9, 1.0, 1e-10, 1e-12]]

    _assert_draws(grade, rows, temp=20.0, top_p=1)


def test_task_3_top_p_works_on_what_top_k_left(grade: Grader) -> None:
    _assert_draws(grade, TWO_ROWS, top_p=0.6, top_k=3, kept=[{1, 3}, {2, 0}])


def test_task_3_top_p_is_a_share_of_what_top_k_left(grade: Grader) -> None:
    """Three tokens of 0.4, 0.3 and 0.15 have the shares 0.47, 0.35 and 0.18.

    The first two make up 0.8 of them, and 0.7 of the whole row.
    """
    _assert_draws(grade, TWO_ROWS, top_p=0.8, top_k=3, kept=[{1, 3}, {2, 0}])


def test_task_3_top_k_is_the_narrower_of_the_two(grade: Grader) -> None:
    _assert_draws(grade, TWO_ROWS, top_p=0.99, top_k=2, kept=[{1, 3}, {2, 0}])
