"""The interactive figure of day 7 of week 3 shows whom our door lets in."""

import pytest
from tests.book.conftest import OpenFigure

from tiny_llm_course.book.chapter_data import values_of

CHAPTER = "week-3-day-7-under-load"
NAME = "bounded-queue"
TOLD = {"bounded": ("6", "8"), "unbounded": ("6", "none"), "low": ("3", "none")}


@pytest.mark.parametrize("told", TOLD)
def test_it_shows_the_numbers_of_the_text(figure: OpenFigure, told: str) -> None:
    rate, places = TOLD[told]
    expected = values_of(CHAPTER, "numbers")["queue"][told]

    figure.set(rate=rate, places=places)

    for name, number in expected.items():
        assert figure.read(name) == pytest.approx(number, abs=1e-3)


@pytest.mark.parametrize("rate", ["2", "5", "8"])
@pytest.mark.parametrize("places", ["4", "16", "64"])
def test_everybody_is_let_in_or_refused(
    figure: OpenFigure, rate: str, places: str
) -> None:
    figure.set(rate=rate, places=places)

    everybody = len(figure.data["comes"][rate])
    assert figure.read("answered") + figure.read("refused") == everybody


def test_a_bound_holds_for_the_wait_too(figure: OpenFigure) -> None:
    """Whoever finds n places taken waits for n seats at most."""
    figure.set(rate="8", places="16")

    assert figure.read("longest") <= (16 / 4 - 1) * figure.data["takes"] + 1e-3


def test_it_opens_with_a_load_that_can_be_served(figure: OpenFigure) -> None:
    assert figure.read("refused") == 0
    assert figure.read("longest") < 2
