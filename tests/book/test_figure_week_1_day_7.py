"""The interactive figure of Day 7 shows what the sampler of the course draws from."""

from collections.abc import Callable
from typing import Any
from unittest import mock

import mlx.core as mx
import numpy as np
import pytest
from tests.book.conftest import OpenFigure

from tiny_llm_course.specimens import mistake
from tiny_llm_ref.sampler import make_sampler

CHAPTER, NAME = "week-1-day-7-sampling", "sampling-filters"


SETTINGS = [
    (0.7, 0.9, 0),
    (1.0, 1, 0),
    (2.0, 1, 0),
    (2.0, 0.9, 0),
    (1.5, 0, 5),
    (0.4, 0.55, 12),
    (3.0, 0.99, 40),
]
"""Temperature, top-p and top-k: each alone, together, and all off."""


@pytest.fixture
def given(figure: OpenFigure) -> dict[str, Any]:
    """Return what the figure starts from."""
    return figure.data


def _drawn_from(
    make: Callable[..., Any], given: dict[str, Any], *settings: float
) -> np.ndarray:
    """Return the probabilities that a sampler draws from, the likeliest token first."""
    row = mx.array([given["log_probabilities"]])
    temp, top_p, top_k = settings
    with mock.patch.object(mx.random, "categorical", side_effect=lambda x: x):
        scores = make(temp, top_p, int(top_k))(row)[0]
    return np.array(mx.softmax(scores), dtype=np.float64)


def _assert_shows(
    figure: OpenFigure, given: dict[str, Any], shares: np.ndarray
) -> None:
    """Compare all numbers below the figure with a distribution."""
    num_kept = int((shares > 0).sum())
    some = shares[:num_kept]
    before = np.exp(given["log_probabilities"])
    expected = {
        "kept": num_kept,
        "mass": before[:num_kept].sum() / before.sum(),
        "largest": shares[0],
        "others": shares[given["shown"] :].sum(),
        "choices": np.exp(-np.sum(some * np.log(some))),
    }
    got = {name: figure.read(name) for name in expected}
    assert got == pytest.approx(expected, rel=2e-5, abs=1e-7)


@pytest.mark.parametrize(("temp", "top_p", "top_k"), SETTINGS)
def test_the_figure_filters_as_the_reference_does(
    figure: OpenFigure,
    given: dict[str, Any],
    temp: float,
    top_p: float,
    top_k: int,
) -> None:
    """The distribution is what goes into the draw, normalised."""
    figure.set(temp=temp, top_p=top_p, top_k=top_k)

    shares = _drawn_from(make_sampler, given, temp, top_p, top_k)
    _assert_shows(figure, given, shares)
    assert set(figure.read("drawn")) <= set(given["tokens"][: (shares > 0).sum()])


@pytest.mark.parametrize("temp", [0.5, 2.0])
def test_the_figure_shows_what_a_temperature_before_the_filters_does(
    figure: OpenFigure, given: dict[str, Any], temp: float
) -> None:
    """This order is a known mistake of the third task."""
    figure.set(order="first", temp=temp)

    make = mistake("week_1_day_7", "temperature_before_top_p")
    _assert_shows(figure, given, _drawn_from(make, given, temp, 0.9, 0))


def test_temperature_0_draws_the_likeliest_token_only(
    figure: OpenFigure, given: dict[str, Any]
) -> None:
    figure.set(temp=0)

    assert make_sampler(0, 0.9, 0)(mx.array([given["log_probabilities"]])).item() == 0
    assert figure.read("kept") == 1
    assert figure.read("largest") == 1
    assert set(figure.read("drawn")) == {given["tokens"][0]}


def test_other_random_numbers_draw_other_tokens(figure: OpenFigure) -> None:
    first = figure.read("drawn")

    figure.press("again")

    assert figure.read("drawn") != first


def test_the_draws_come_in_the_shares_of_the_distribution(
    figure: OpenFigure, given: dict[str, Any]
) -> None:
    """A share may miss its probability by five standard deviations."""
    drawn: list[str] = []

    while len(drawn) < 1200:
        drawn += figure.read("drawn")
        figure.press("again")

    shares = _drawn_from(make_sampler, given, 0.7, 0.9, 0)[:3]
    got = np.array([drawn.count(one) for one in given["tokens"][:3]]) / len(drawn)
    assert np.all(np.abs(got - shares) < 5 * np.sqrt(shares / len(drawn)))
