"""Every page of the book, as a reader's browser sees it."""

from collections.abc import Callable, Sequence
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import ElementHandle, Page, expect
from tests.book.accessibility import faint, violations
from tests.book.conftest import OpenPage

from tiny_llm_course.book.markdown import chapters
from tiny_llm_course.places import (
    KERNELS,
    ROOT,
    SHARED_KERNELS,
    STARTER,
    TESTS,
    WORKED_EXAMPLES,
)

CHAPTERS = [path.stem for path in chapters()]
SHOWN = (
    *STARTER.glob("[!_]*.py"),
    *(KERNELS / "kernels").glob("*.h"),
    *(SHARED_KERNELS / "kernels").glob("*.h"),
    *WORKED_EXAMPLES.glob("*"),
    *TESTS.glob("test_*.py"),
)
SOURCES = sorted(
    f"source/{path.relative_to(ROOT).as_posix().removesuffix('.py')}" for path in SHOWN
)
"""By their names alone: a change inside one of them is nothing to other pages."""

PHONE = 375

DRAWN = """
(figures) => figures.map((one) => ({
  ready: one.dataset.ready === "true",
  label: one.getAttribute("aria-label"),
  readouts: one.querySelectorAll("[data-readout]").length,
}))
"""

TEXTS = "(drawings) => drawings.map((one) => one.getAttribute('aria-label'))"

REACHED = """
(control) => {
  control.focus();
  return [control === document.activeElement, control.type];
}
"""
"""Whether a control takes what is typed, and of which type it is."""

STATE = "(control) => control.type === 'checkbox' ? control.checked : control.value"

KEYS = {"range": ("ArrowRight", "ArrowLeft"), "checkbox": ("Space",)}
"""Those that move a control of this type, the second from the end of a range."""

EVERY_PAGE = [*CHAPTERS, *SOURCES, "search"]


def each(names: Sequence[str]) -> pytest.MarkDecorator:
    """Run a test on pages that others look at as well."""
    return pytest.mark.parametrize("opened", names, indirect=True, scope="module")


@pytest.mark.parametrize("theme", ["light", "dark"])
@each(EVERY_PAGE)
def test_a_page_shows_without_a_complaint(opened: OpenPage, theme: str) -> None:
    page = opened.show(theme=theme)

    expect(page.locator("h1").first).to_be_visible()
    assert opened.complaints == []


@each(EVERY_PAGE)
def test_a_page_fits_a_phone(opened: OpenPage) -> None:
    """What is wider, such as a listing, scrolls by itself."""
    page = opened.show(width=PHONE)

    assert page.evaluate("document.documentElement.scrollWidth") == PHONE


def test_each_file_of_a_learner_has_its_page(built: Path) -> None:
    pages = built / "en"
    found = (pages / "source").rglob("*.html")
    names = [path.relative_to(pages).with_suffix("").as_posix() for path in found]

    assert sorted(names) == SOURCES


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_page_asks_nobody_else(name: str, built: Path) -> None:
    """No tracker, no font and no script comes from another place."""
    text = (built / "en" / f"{name}.html").read_text(encoding="utf-8")

    loading = ('src="http', "src='http", 'rel="stylesheet" href="http', "@import")
    assert [one for one in loading if one in text] == []


@each(CHAPTERS)
def test_formulas_are_set(opened: OpenPage) -> None:
    """By KaTeX when the book was built, with MathML for those who listen."""
    page = opened.show()
    file = Path(urlsplit(page.url).path)

    num_built = file.read_text(encoding="utf-8").count("<math ")
    assert page.locator(".katex-mathml math").count() == num_built
    assert page.locator(".katex-error").count() == 0
    text = page.locator("article").inner_text()
    for fence in ("$$", r"\frac", r"\sqrt"):
        assert fence not in text


def test_the_fonts_of_formulas_are_there(open_page: Callable) -> None:
    page = open_page("week-1-day-4-rmsnorm-and-mlp").page

    page.evaluate("document.fonts.ready")
    assert page.evaluate("document.fonts.check('16px KaTeX_Main')")


@each(CHAPTERS)
def test_every_figure_is_drawn_and_has_a_text(opened: OpenPage) -> None:
    page = opened.show()

    figures = page.locator(".interactive").evaluate_all(DRAWN)
    assert [one for one in figures if not all(one.values())] == []
    assert all(page.locator("article svg[role=img]").evaluate_all(TEXTS))


@each([*CHAPTERS, SOURCES[0], "search"])
def test_a_page_is_accessible(opened: OpenPage) -> None:
    """In the dark only the colours are others.

    It is the last test that looks at the page, and shortens it.
    """
    in_the_dark = faint(opened.show(theme="dark"))

    assert in_the_dark + violations(opened.show()) == []


def moved(page: Page, control: ElementHandle, keys: Sequence[str]) -> bool:
    """Press keys until the control that has the focus is no longer as it was."""
    before = control.evaluate(STATE)
    for key in keys:
        page.keyboard.press(key)
        if control.evaluate(STATE) != before:
            return True
    return False


@each(CHAPTERS)
def test_every_control_is_reached_and_moved_by_keyboard(opened: OpenPage) -> None:
    """Last on a page, whose figures it changes."""
    page = opened.show()
    if page.locator("[data-control]").count():
        page.reload()

    for more in page.query_selector_all(".interactive .more > summary"):
        more.press("Enter")
    for control in page.query_selector_all("[data-control]"):
        is_reached, kind = control.evaluate(REACHED)
        assert is_reached
        if kind in KEYS:
            assert moved(page, control, KEYS[kind])


def test_search_finds_rmsnorm(open_page: Callable) -> None:
    """Without a server: the index is a script that the page loads."""
    page = open_page("index").page

    page.get_by_role("textbox", name="Search").fill("RMSNorm")
    page.keyboard.press("Enter")

    found = page.locator("ul.search a").filter(has_text="RMSNorm")
    expect(found.first).to_be_visible(timeout=10_000)


def test_dark_is_dark(open_page: Callable) -> None:
    opened = open_page("week-1-day-4-rmsnorm-and-mlp")
    read = "getComputedStyle(document.body).backgroundColor"

    light = opened.show(theme="light").evaluate(read)
    dark = opened.show(theme="dark").evaluate(read)

    assert light == "rgb(255, 255, 255)"
    assert sum(map(int, dark.strip("rgb()").split(","))) < 150
