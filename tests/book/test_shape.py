"""A day's chapter begins with something to touch, and soon asks for code."""

from collections.abc import Sequence

import pytest
from tests.book.conftest import WIDTH, OpenPage

from tiny_llm_course.syllabus import weeks

SCREEN = 800
"""Pixels: the height of a small laptop's window."""

NUM_WORDS = 6000

PHONE, NUM_PIXELS = 390, 11

TEXT_SIZES = """
() => [...document.querySelectorAll("article svg[viewBox] text")].map((one) => {
  const drawing = one.closest("svg");
  const scale = drawing.getBoundingClientRect().width / drawing.viewBox.baseVal.width;
  return parseFloat(getComputedStyle(one).fontSize) * scale;
})
"""
"""The height of each text in a drawing, in pixels of the screen."""

CAPTIONS = """
(drawings) => drawings.map((one) => one.querySelector("figcaption").innerText)
"""

DAYS = [day.chapter for week in weeks() for day in week.days]


def each(names: Sequence[str]) -> pytest.MarkDecorator:
    """Run a test on chapters, each of which is opened once."""
    return pytest.mark.parametrize("opened", names, indirect=True, scope="module")


def screen_of(opened: OpenPage, selector: str) -> int:
    """Return on which screen the first part of a kind begins, the first being 1."""
    top = opened.show(width=WIDTH).evaluate(
        "(selector) => document.querySelector(selector)"
        ".getBoundingClientRect().top + scrollY",
        selector,
    )
    return int(top // SCREEN) + 1


@each(DAYS)
def test_a_figure_opens_the_chapter(opened: OpenPage) -> None:
    assert screen_of(opened, ".interactive") <= 2


@each(DAYS)
def test_the_first_task_begins_before_the_sixth_screen(opened: OpenPage) -> None:
    """What is read before is what one needs to begin."""
    assert screen_of(opened, ".task") < 6


@each(DAYS)
def test_a_figure_has_three_controls_in_sight(opened: OpenPage) -> None:
    """The others are one click away."""
    figures = opened.show().locator(".interactive").all()

    controls = [one.locator("[data-control]").filter(visible=True) for one in figures]
    assert max(one.count() for one in controls) <= 3


@each(DAYS)
def test_every_drawing_has_a_caption(opened: OpenPage) -> None:
    drawings = opened.show().locator("figure.drawing")

    assert all(drawings.evaluate_all(CAPTIONS))


@each(DAYS)
def test_a_chapter_is_read_in_an_hour(opened: OpenPage) -> None:
    """Without what is folded away."""
    text = opened.show().locator("article").inner_text()

    assert len(text.split()) < NUM_WORDS


@each(DAYS)
def test_the_text_of_figures_is_legible_on_a_phone(opened: OpenPage) -> None:
    """In pixels of the screen: a drawing is scaled to the width of the page."""
    sizes = opened.show(width=PHONE).evaluate(TEXT_SIZES)

    assert min(sizes) >= NUM_PIXELS
