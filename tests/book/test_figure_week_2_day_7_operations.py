"""The first figure of day 7 shows what the lab has measured, and counts bytes."""

import itertools

import pytest
from tests.book.conftest import OpenFigure

CHAPTER = "week-2-day-7-fused-kernels"
NAME = "operation-costs"


def test_each_time_is_that_of_the_lab(figure: OpenFigure) -> None:
    times, numbers = figure.data["us"], figure.data["numbers"]

    for additions, place in itertools.product((2, 4, 8), range(len(numbers))):
        figure.set(additions=str(additions), numbers=place)

        alone, joined = additions * times["1"][place], times[str(additions)][place]
        assert figure.read("alone") == pytest.approx(alone)
        assert figure.read("joined") == joined
        assert figure.read("times") == pytest.approx(alone / joined)


def test_an_addition_reads_two_arrays_and_writes_one(figure: OpenFigure) -> None:
    figure.set(additions="4", numbers=4)

    trip = 3 * 4 * figure.data["numbers"][4]
    assert figure.read("moved_joined") == trip
    assert figure.read("moved_alone") == 4 * trip


def test_it_opens_with_what_the_text_above_it_says(figure: OpenFigure) -> None:
    """Eight additions of four numbers each, and nothing is decided yet."""
    assert figure.data["numbers"][0] == 4
    assert figure.read("alone") == pytest.approx(8 * figure.data["us"]["1"][0])


def test_up_to_some_thousand_numbers_only_the_operations_count(
    figure: OpenFigure,
) -> None:
    few = figure.read("alone")
    figure.set(numbers=figure.data["numbers"].index(1024))

    assert figure.read("alone") < 1.6 * few
    assert figure.read("times") > 4
