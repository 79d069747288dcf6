"""Drawings: their words come from the chapter, in letters of any language."""

import re

import pytest
from matplotlib.figure import Figure

from tiny_llm_course.book.drawing import Texts, style, to_svg


def test_a_text_that_a_drawing_lacks_or_does_not_show_is_reported() -> None:
    text = Texts({"old": "never touched", "spare": "spare"})

    shown = [text["old"], text["new"]]

    assert shown == ["never touched", "new"]
    assert list(text.complaints()) == [
        "expected a text new",
        "the text spare is not shown",
    ]


def test_a_text_with_a_formula_is_reported() -> None:
    """Formulas are set in fonts that lack most letters."""
    text = Texts({"root": "a $x$"})
    assert text["root"]

    assert list(text.complaints()) == [
        "expected no formula in the text root: it may lack letters"
    ]


def written(text: str) -> tuple[str, float]:
    """Write a text into a drawing; return the SVG, and the width of the text in em."""
    with style():
        figure = Figure(dpi=72)
        label = figure.text(0, 0, text, size=10)
        width = label.get_window_extent().width / 10
    return to_svg(figure, "name", "What it shows."), width


@pytest.mark.parametrize("text", ["old", "旧的"])
def test_words_are_text_in_the_fonts_of_the_page(text: str) -> None:
    svg, _ = written(text)

    (style_of, shown) = re.findall(r'<text style="([^"]*)"[^>]*>(.*?)</text>', svg)[0]
    assert shown == text
    assert "font-family: var(--font-stack)" in style_of


def test_wide_characters_get_their_room() -> None:
    _, narrow = written("ill")
    _, wide = written("从未改")

    assert narrow < 2
    assert 3 <= wide < 4
