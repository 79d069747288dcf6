"""The pages of the book in Chinese, and the way between the languages."""
# ruff: noqa: RUF001 - punctuation of full width on purpose

import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.book.accessibility import faint, violations
from tests.book.conftest import Window

from tiny_llm_course.book.markdown import chapters
from tiny_llm_course.places import BOOK

CHAPTERS = [path.stem for path in chapters(BOOK / "zh")]
PHONE = 375
MOST_WORDS = 6
DAY = "week-1-day-4-rmsnorm-and-mlp"

WORDS = """
(article) => {
  const copy = article.cloneNode(true);
  const quoted = "pre, code, .katex, .formula, em, cite, script, style, .model-map";
  copy.querySelectorAll(quoted).forEach((one) => one.replaceWith(" \u25a1 "));
  const cells = [...copy.querySelectorAll("td, li, p, div, blockquote")];
  cells.filter((one) => !/[\u4e00-\u9fff]/.test(one.textContent))
    .forEach((one) => one.replaceWith(" \u25a1 "));
  return copy.textContent;
}
"""
"""The sentences of a page, without code, formulas, and what the model says or reads."""

SCROLLED = """() =>
  document.querySelector("#where-people-slip").getBoundingClientRect().top < 200
"""

LABELS = """
(figures) => figures.map((one) => [
  one.dataset.ready,
  [...one.querySelectorAll("label, button, text, figcaption, summary, th")]
    .map((label) => label.textContent).join(" \u25a1 "),
])
"""
"""Whether each figure is drawn, and what is written in it."""

WIDTH = """([place, text]) => {
  const one = document.createElement("span");
  one.textContent = text;
  document.querySelector(`article ${place}`).append(one);
  return one.getBoundingClientRect().width;
}"""


def width(page: Page, place: str, text: str) -> float:
    """Return how wide a text is at the end of the first such element of a page."""
    return page.evaluate(WIDTH, [place, text])


@pytest.fixture(scope="module")
def chinese(swift_browser: Browser, built: Path) -> Window:
    """A window for the book in Chinese."""
    return Window.of(swift_browser, built, "zh")


def english(text: str) -> list[str]:
    """Return what reads like a sentence of English, data in quotation marks aside."""
    plain = re.sub(r"\u201c[^\u201d]*\u201d", "", text)
    runs = re.findall(r"[A-Za-z][\w'-]*[,;:.]?(?: [A-Za-z][\w'-]*[,;:.]?)+", plain)
    return [
        one for one in runs if sum(len(word) > 1 for word in one.split()) > MOST_WORDS
    ]


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(one, marks=() if one == DAY else pytest.mark.long)
        for one in CHAPTERS
    ],
)
def test_a_page_shows_fits_a_phone_and_is_chinese(chinese: Window, name: str) -> None:
    opened = chinese.open(name, width=PHONE)
    page = opened.page

    expect(page.locator("h1").first).to_be_visible()
    assert opened.complaints == []
    assert page.evaluate("document.documentElement.lang") == "zh-CN"
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE
    assert english(page.locator("article").evaluate(WORDS)) == []
    for is_ready, labels in page.locator("article .interactive").evaluate_all(LABELS):
        assert is_ready == "true"
        assert english(labels) == []


def test_a_page_is_accessible(chinese: Window) -> None:
    opened = chinese.open(DAY)

    in_the_dark = faint(opened.show(theme="dark"))

    assert in_the_dark + violations(opened.show()) == []


@pytest.mark.parametrize("asked", ["残差流", "键值缓存", "均方根", "投机解码"])
def test_search_finds_a_phrase(chinese: Window, built: Path, asked: str) -> None:
    page = chinese.open("index").page

    page.get_by_role("textbox", name="搜索").fill(asked)
    page.keyboard.press("Enter")

    results = page.locator("ul.search li a")
    expect(results.first).to_be_visible(timeout=10_000)
    name = urlsplit(results.first.get_attribute("href") or "").path.rpartition("/")[2]
    assert asked in (built / "zh" / name).read_text(encoding="utf-8")


def switched(page: Page, name: str) -> Page:
    """Follow the link to the other language."""
    page.locator(".languages").get_by_role("link", name=name).click()
    return page


def test_the_switch_leads_to_the_same_section(browser: Browser, built: Path) -> None:
    page = Window.of(browser, built, "zh").open(DAY).page
    page.goto(f"{page.url}#where-people-slip")
    page.wait_for_function(SCROLLED)

    switched(page, "English")

    assert page.url.endswith(f"/en/{DAY}.html#where-people-slip")
    expect(page.locator("#where-people-slip > h3")).to_contain_text("Where people slip")
    page.wait_for_function(SCROLLED)
    switched(page, "中文")
    assert page.url.endswith(f"/zh/{DAY}.html#where-people-slip")


def test_han_and_latin_are_set_apart_by_the_style_sheet(chinese: Window) -> None:
    page = chinese.open(DAY).page

    apart, mixed, han = (width(page, "p", text) for text in ("MLX", "数MLX组", "数组"))
    assert mixed > apart + han


LOADED = """async () => {
  const font = [...document.fonts].find((one) => one.family.includes("Two Cells"));
  return font.load().then(() => true, () => false);
}"""


@pytest.mark.parametrize("text", ["汉汉汉汉", "（汉），", "汉0汉000"])
def test_han_takes_two_cells_in_code(chinese: Window, text: str) -> None:
    """Columns of reports and of pseudocode stay columns."""
    page = chinese.open(DAY).page
    if not page.evaluate(LOADED):
        pytest.skip("none of the fonts that the style sheet names is here")

    found, wanted = (width(page, "pre", one) for one in (text, "00000000"))

    assert found == pytest.approx(wanted, rel=0.01)
