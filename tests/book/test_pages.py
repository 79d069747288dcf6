"""Every page of the book, as a reader's browser sees it."""

from collections.abc import Callable
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from tiny_llm_course.book.markdown import chapters
from tiny_llm_course.book.sources import pages

CHAPTERS = [path.stem for path in chapters()]
SOURCES = [f"source/{name.removesuffix('.py')}" for name in pages()]
PHONE = 375


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", [*CHAPTERS, *SOURCES, "search"])
def test_a_page_loads_without_a_complaint(
    name: str, theme: str, open_page: Callable
) -> None:
    opened = open_page(name, theme=theme)

    expect(opened.page.locator("h1").first).to_be_visible()
    assert opened.complaints == []


@pytest.mark.parametrize("name", [*CHAPTERS, *SOURCES, "search"])
def test_a_page_fits_a_phone(name: str, open_page: Callable) -> None:
    """What is wider, such as a listing, scrolls by itself."""
    page = open_page(name, width=PHONE).page

    assert page.evaluate("document.documentElement.scrollWidth") == PHONE


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_page_asks_nobody_else(name: str, built: Path) -> None:
    """No tracker, no font and no script comes from another place."""
    text = (built / "en" / f"{name}.html").read_text(encoding="utf-8")

    loading = ('src="http', "src='http", 'rel="stylesheet" href="http', "@import")
    assert [one for one in loading if one in text] == []


@pytest.mark.parametrize("name", CHAPTERS)
def test_formulas_are_set(name: str, built: Path, open_page: Callable) -> None:
    """By KaTeX when the book was built, with MathML for those who listen."""
    source = (Path(built) / "en" / f"{name}.html").read_text(encoding="utf-8")
    page = open_page(name).page

    assert page.locator(".katex-mathml math").count() == source.count("<math ")
    assert page.locator(".katex-error").count() == 0
    for fence in ("$$", r"\frac", r"\sqrt"):
        assert fence not in page.locator("article").inner_text()


def test_the_fonts_of_formulas_are_there(open_page: Callable) -> None:
    page = open_page("week-1-day-4-rmsnorm-and-mlp").page

    page.evaluate("document.fonts.ready")
    assert page.evaluate("document.fonts.check('16px KaTeX_Main')")


@pytest.mark.parametrize("name", CHAPTERS)
def test_every_figure_is_drawn_and_has_a_text(name: str, open_page: Callable) -> None:
    page = open_page(name).page

    for figure in page.locator(".interactive").all():
        assert figure.get_attribute("data-ready") == "true"
        assert figure.get_attribute("aria-label")
        assert figure.locator("[data-readout]").count() > 0
    for drawing in page.locator("article svg[role=img]").all():
        assert drawing.get_attribute("aria-label")


@pytest.mark.parametrize("name", CHAPTERS)
def test_every_control_is_reached_and_moved_by_keyboard(
    name: str, open_page: Callable
) -> None:
    page = open_page(name).page

    for control in page.locator("[data-control]").all():
        control.focus()
        assert control.evaluate("node => node === document.activeElement")
        if control.get_attribute("type") == "range":
            values = {control.input_value()}
            for key in ("ArrowRight", "ArrowLeft", "ArrowLeft"):
                control.press(key)
                values.add(control.input_value())
            assert len(values) > 1


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", [*CHAPTERS, SOURCES[0], "search"])
def test_a_page_is_accessible(name: str, theme: str, open_page: Callable) -> None:
    """As far as a program can tell: contrast, names, roles (WCAG 2.1, A and AA)."""
    page = open_page(name, theme=theme).page

    levels = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]
    found = Axe().run(page, options={"runOnly": levels}).response["violations"]

    assert [(one["id"], one["nodes"][0]["html"]) for one in found] == []


def test_search_finds_rmsnorm(open_page: Callable) -> None:
    """Without a server: the index is a script that the page loads."""
    page = open_page("index").page

    page.get_by_role("textbox", name="Search").fill("RMSNorm")
    page.keyboard.press("Enter")

    results = page.locator("ul.search a")
    expect(results.first).to_be_visible(timeout=10_000)
    assert any("RMSNorm" in text for text in results.all_inner_texts())


def test_dark_is_dark(open_page: Callable) -> None:
    chapter = "week-1-day-4-rmsnorm-and-mlp"
    read = "getComputedStyle(document.body).backgroundColor"

    light = open_page(chapter, theme="light").page.evaluate(read)
    dark = open_page(chapter, theme="dark").page.evaluate(read)

    assert light == "rgb(255, 255, 255)"
    assert sum(map(int, dark.strip("rgb()").split(","))) < 150
