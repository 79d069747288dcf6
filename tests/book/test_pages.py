"""Every page of the book, as a reader's browser sees it.

And a day's chapter: it begins with something to touch, and soon asks for code.
"""

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
from tiny_llm_course.syllabus import weeks

CHAPTERS = [path.stem for path in chapters()]
DAYS = [day.chapter for week in weeks() for day in week.days]
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

SMALL_PHONE, PHONE, NUM_PIXELS = 375, 390, 11
"""How wide they are, and how high a text can be read on the second."""

SCREEN = 800
"""Pixels: the height of a small laptop's window."""

NUM_WORDS = 6000

IN_SIGHT = """
(selector) => [...document.querySelectorAll(selector)].filter((one) => {
  const { width, height } = one.getBoundingClientRect();
  return width && height && one.checkVisibility({ visibilityProperty: true });
})
"""
"""What a reader would see of a kind without a click."""

HAS_TITLE = f"() => ({IN_SIGHT})('h1')[0] === document.querySelector('h1')"

CONTROLS = f"""
() => [...document.querySelectorAll(".interactive")].map((one) =>
  ({IN_SIGHT})("[data-control]").filter((control) => one.contains(control)).length)
"""
"""How many of them are in sight, for each figure."""

TOP = """
(selector) => document.querySelector(selector).getBoundingClientRect().top + scrollY
"""

FORMULAS = """
() => ({
  set: document.querySelectorAll(".katex-mathml math").length,
  failed: document.querySelectorAll(".katex-error").length,
  text: document.querySelector("article").innerText,
})
"""

DRAWN = """
() => [...document.querySelectorAll(".interactive")].map((one) => ({
  ready: one.dataset.ready === "true",
  label: one.getAttribute("aria-label"),
  readouts: one.querySelectorAll("[data-readout]").length,
}))
"""

TEXTS = """
() => [...document.querySelectorAll("article svg[role=img]")].map((one) =>
  one.getAttribute("aria-label"))
"""

CAPTIONS = """
() => [...document.querySelectorAll("figure.drawing")].map((one) =>
  one.querySelector("figcaption").innerText)
"""

TEXT_SIZES = """
() => [...document.querySelectorAll("article svg[viewBox] text")].map((one) => {
  const drawing = one.closest("svg");
  const scale = drawing.getBoundingClientRect().width / drawing.viewBox.baseVal.width;
  return parseFloat(getComputedStyle(one).fontSize) * scale;
})
"""
"""The height of each text in a drawing, in pixels of the screen."""

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
ONE_OF_EACH_KIND = [*CHAPTERS, SOURCES[0], "search"]


def each(names: Sequence[str]) -> pytest.MarkDecorator:
    """Run a test on pages that others look at as well, in the order of this file."""
    return pytest.mark.parametrize("opened", names, indirect=True, scope="module")


def screen_of(opened: OpenPage, selector: str) -> int:
    """Return on which screen the first part of a kind begins, the first being 1."""
    return int(opened.show().evaluate(TOP, selector) // SCREEN) + 1


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
    assert max(opened.show().evaluate(CONTROLS)) <= 3


@each(DAYS)
def test_every_drawing_has_a_caption(opened: OpenPage) -> None:
    assert all(opened.show().evaluate(CAPTIONS))


@each(DAYS)
def test_a_chapter_is_read_in_an_hour(opened: OpenPage) -> None:
    """Without what is folded away."""
    text = opened.show().evaluate("document.querySelector('article').innerText")

    assert len(text.split()) < NUM_WORDS


@each(CHAPTERS)
def test_formulas_are_set(opened: OpenPage) -> None:
    """By KaTeX when the book was built, with MathML for those who listen."""
    page = opened.show()
    file = Path(urlsplit(page.url).path)

    found = page.evaluate(FORMULAS)
    assert found["set"] == file.read_text(encoding="utf-8").count("<math ")
    assert found["failed"] == 0
    assert [one for one in ("$$", r"\frac", r"\sqrt") if one in found["text"]] == []


@each(CHAPTERS)
def test_every_figure_is_drawn_and_has_a_text(opened: OpenPage) -> None:
    page = opened.show()

    assert [one for one in page.evaluate(DRAWN) if not all(one.values())] == []
    assert all(page.evaluate(TEXTS))


@each(EVERY_PAGE)
def test_a_page_shows_without_a_complaint(opened: OpenPage) -> None:
    assert opened.show().evaluate(HAS_TITLE)
    assert opened.complaints == []


@each(ONE_OF_EACH_KIND)
def test_a_page_is_legible_in_the_dark(opened: OpenPage) -> None:
    assert faint(opened.show(theme="dark")) == []


@each(EVERY_PAGE)
def test_a_page_fits_a_phone_in_the_dark(opened: OpenPage) -> None:
    """What is wider, such as a listing, scrolls by itself."""
    page = opened.show(width=SMALL_PHONE, theme="dark")

    assert page.evaluate("document.documentElement.scrollWidth") == SMALL_PHONE
    assert page.evaluate(HAS_TITLE)
    assert opened.complaints == []


@each(DAYS)
def test_the_text_of_figures_is_legible_on_a_phone(opened: OpenPage) -> None:
    """In pixels of the screen: a drawing is scaled to the width of the page."""
    sizes = opened.show(width=PHONE, theme="dark").evaluate(TEXT_SIZES)

    assert min(sizes) >= NUM_PIXELS


@each(ONE_OF_EACH_KIND)
def test_a_page_is_accessible(opened: OpenPage) -> None:
    """The last test that looks at the page, and shortens it."""
    assert violations(opened.show()) == []


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


def test_the_fonts_of_formulas_are_there(open_page: Callable) -> None:
    page = open_page("week-1-day-4-rmsnorm-and-mlp").page

    page.evaluate("document.fonts.ready")
    assert page.evaluate("document.fonts.check('16px KaTeX_Main')")


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
