"""The map above each chapter: where one is, and what goes through a part."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect
from tests.book.accessibility import faint, violations
from tests.book.conftest import WIDTH, OpenPage, Window

from tiny_llm_course.book.chapter_data import values_of
from tiny_llm_course.book.map_drawing import DATA
from tiny_llm_course.syllabus import weeks

DAYS = [day.chapter for week in weeks() for day in week.days]
WITH_A_MAP = ["index", *DAYS]
DAY = "week-3-day-4-paged-attention"

PHONE, NUM_PIXELS = 390, 11
HALF_A_SCREEN = {WIDTH: 400, PHONE: 422}
"""Pixels: of a small laptop, and of a phone with 844."""

TEXT_SIZES = """
(map) => [...map.querySelectorAll("*")]
  .filter((one) => [...one.childNodes].some((node) => node.nodeType === 3))
  .map((one) => parseFloat(getComputedStyle(one).fontSize))
"""


@pytest.fixture
def page(open_page: Callable[[str], OpenPage]) -> Page:
    """A chapter with its map, which must not complain about anything."""
    return open_page(DAY).page


@pytest.fixture(scope="module")
def data() -> Any:  # noqa: ANN401 - lists and tables by name
    """What the map shows."""
    return values_of(DATA, "data")


def part(page: Page, name: str) -> Locator:
    return page.locator(f'[data-part="{name}"]')


def map_of(built: Path, name: str) -> str:
    """Return the map on a page as it was built, before any script runs."""
    text = (built / "en" / f"{name}.html").read_text(encoding="utf-8")
    found = re.search(r'<nav class="model-map".*?</nav>', text, re.DOTALL)
    assert found
    return found[0]


@pytest.mark.parametrize("name", WITH_A_MAP)
def test_every_link_leads_to_a_place(name: str, built: Path) -> None:
    links = re.findall(r'href="([^"#]+)(?:#([^"]+))?"', map_of(built, name))

    assert len(links) > len(DAYS)
    for file, anchor in set(links):
        there = (built / "en" / file).read_text(encoding="utf-8")
        assert not anchor or f'id="{anchor}"' in there


@pytest.mark.parametrize("name", DAYS)
def test_a_chapter_shows_where_one_is(name: str, built: Path) -> None:
    drawing = map_of(built, name)

    assert 'class="map-part map-lit' in drawing
    assert re.findall(r'href="([^"]+)"[^>]*aria-current="page"', drawing) == [
        f"{name}.html"
    ]


@pytest.mark.parametrize("width", [WIDTH, PHONE])
@pytest.mark.parametrize("name", ["index", DAY])
def test_the_map_takes_half_a_screen_and_is_legible(
    name: str, width: int, other_window: Window
) -> None:
    drawing = other_window.open(name, width=width).page.locator(".model-map")

    box = drawing.bounding_box()
    assert box
    assert box["height"] <= HALF_A_SCREEN[width]
    assert min(drawing.evaluate(TEXT_SIZES)) >= NUM_PIXELS


def test_a_part_that_is_touched_shows_what_goes_through_it(
    page: Page,
    data: Any,  # noqa: ANN401
) -> None:
    part(page, "norm_1").click()

    shown = page.locator('[data-readout="norm_1"]')
    assert shown.evaluate("node => JSON.parse(node.dataset.value)") == {
        "channels": data["strips"]["norm_1"]["values"][-1],
        "size": data["strips"]["norm_1"]["sizes"][-1],
    }
    part(page, "norm_1").click()
    expect(page.locator(".map-panel")).to_be_hidden()


def test_a_token_that_is_touched_is_the_one_that_is_shown(
    page: Page,
    data: Any,  # noqa: ANN401
) -> None:
    part(page, "attention").click()
    page.locator(".map-sentence button").nth(2).click()

    rows = page.locator(".map-shares tr").all()[1:]
    expected = [f"{100 * share:.2g}%" for share in data["heads"][2][0][:3]]
    assert [cell.inner_text() for cell in rows[0].locator("td").all()] == [
        *expected,
        *[""] * (len(data["tokens"]) - 3),
    ]


def test_each_part_carries_what_it_puts_out_for_the_token(page: Page) -> None:
    trace = part(page, "embedding").locator(".map-trace")
    read = "node => node.style.background"
    last = trace.evaluate(read)

    page.locator(".map-sentence button").first.click()

    assert part(page, "head").locator(".map-trace").count() == 0
    assert last.count("color-mix") == 16
    assert trace.evaluate(read) != last


def test_a_touched_token_opens_a_part_of_today(page: Page) -> None:
    page.locator(".map-sentence button").first.click()

    expect(page.locator('.map-lit[aria-expanded="true"]')).to_have_count(1)


def test_every_part_opens_by_keyboard_and_closes_by_escape(page: Page) -> None:
    for one in page.locator(".map-part").all():
        one.press("Space")
        expect(one).to_have_attribute("aria-expanded", "true")
        assert page.locator(".map-panel .map-thing").count() >= 2
        one.press("Escape")
        expect(page.locator(".map-panel")).to_be_hidden()
        expect(one).to_be_focused()


@pytest.mark.parametrize("name", ["attention", "head"])
def test_an_open_part_is_accessible(name: str, other_window: Window) -> None:
    """In the dark only the colours are others."""
    opened = other_window.open(DAY)

    part(opened.page, name).press("Enter")

    expect(opened.page.locator(".map-panel")).to_be_visible()
    in_the_dark = faint(opened.show(theme="dark"))
    assert in_the_dark + violations(opened.show()) == []
