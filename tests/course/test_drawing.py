"""Drawings: their words come from the chapter, in letters of any language."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from tiny_llm_course.book import texts
from tiny_llm_course.book.drawing import relabel, style, to_svg
from tiny_llm_course.book.texts import Texts
from tiny_llm_course.places import BOOK

CHAPTER_DATA = BOOK / "chapter_data"
WRITTEN = {"words": 2, "box": 2, "text": 2} | dict.fromkeys(
    ("annotate", "set_title", "set_xlabel", "set_ylabel"), 0
)
"""What writes into a figure, and which of its arguments is the text."""

OPTIONS = {"label", "title", "xlabel", "ylabel"}
WORD = re.compile(r"(?<![\w.])[A-Za-z]?[a-z]{2,}(?![\w.]| =)")


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


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("at least 20", "ｍｉｎ 20"),  # noqa: RUF001
        ("-1.5 to 1e-06", "-1.5 ｂｉｓ 1e-06"),  # noqa: RUF001
        ("float32", "float32"),
        ("mlx_lm", "mlx_lm"),
        ("`pdm run bench`", "`pdm run bench`"),
        ("0.5", "0.5"),
    ],
)
def test_a_translated_chapter_says_what_a_lab_has_written(
    said: str, shown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = {"at least {}": "ｍｉｎ {}", "{} to {}": "{} ｂｉｓ {}"}  # noqa: RUF001

    assert Texts({}).instead_of(said) == said
    monkeypatch.setattr(texts, "current", lambda: "qps")
    assert Texts(given).instead_of(said) == shown


def test_the_labels_of_a_lab_are_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a translated chapter does not say is reported."""
    monkeypatch.setattr(texts, "current", lambda: "qps")
    text = Texts({"share of {} tokens": "{} ｔ"})  # noqa: RUF001
    with style():
        figure = Figure()
        axes = figure.subplots()
        axes.set_yticks([0, 1], ["share of 3 tokens", "float32"])
        axes.set(title="share of 4 tokens", xlabel="bytes")
        relabel(figure, text)

    svg = to_svg(figure, "name", "What it shows.")

    assert all(f">{shown}</text>" in svg for shown in ("3 ｔ", "4 ｔ"))  # noqa: RUF001
    assert list(text.complaints()) == ["expected a text bytes"]


def typed_in(source: str) -> Iterator[str]:
    """Yield the words that a script writes into a figure by itself.

    Args:
        source: Chapter data.
    """
    for call in ast.walk(ast.parse(source)):
        if not isinstance(call, ast.Call):
            continue
        name = getattr(call.func, "attr", getattr(call.func, "id", ""))
        shown = [one.value for one in call.keywords if one.arg in OPTIONS]
        if name in WRITTEN:
            shown += call.args[WRITTEN[name] :][:1]
        for one in shown:
            for part in one.values if isinstance(one, ast.JoinedStr) else [one]:
                if isinstance(part, ast.Constant) and WORD.search(str(part.value)):
                    yield str(part.value)


@pytest.mark.parametrize(
    "path",
    list(CHAPTER_DATA.rglob("*.py")),
    ids=lambda path: str(path.relative_to(CHAPTER_DATA)),
)
def test_no_drawing_has_words_of_its_own(path: Path) -> None:
    assert list(typed_in(path.read_text(encoding="utf-8"))) == []


def test_words_that_are_typed_into_a_drawing_are_found() -> None:
    source = """
words(axes, at, "old: never touched")
axes.plot(x, y, label=f"head {number}", color="red")
axes.set(xlabel=text["x"], title=f"temp = {temp}")
axes.annotate(text["bias"], at, (5, -3), textcoords="offset points")
"""

    assert list(typed_in(source)) == ["old: never touched", "head "]
