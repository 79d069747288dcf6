"""What takes the place of axe on long pages finds what axe finds."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page
from tests.book.accessibility import COLOURS, faint, found_by_axe, violations
from tests.book.conftest import Window

DAY = "week-3-day-4-paged-attention"
"""A short chapter, since axe is slow, with formulas, drawings, code and a figure."""

FAINT = {
    "text": '<p style="color: #808080">grey</p>',
    "a token": '<pre><span class="k" style="color: #808080">grey</span></pre>',
    "large text": '<p style="color: #999; font-size: 24px">grey</p>',
    "seen through": '<div style="opacity: 0.6"><p style="color: #444">grey</p></div>',
    "half there": '<p style="color: rgb(0 0 0 / 50%)">grey</p>',
    "mixed": '<p style="color: color-mix(in srgb, black 45%, white)">grey</p>',
    "on what is dark": '<div style="background: #555"><p>grey</p></div>',
    "on two": '<i style="background: #555"><b style="background: #fff2">grey</b></i>',
}
CLEAR = {
    "text": '<p style="color: #767676">grey</p>',
    "large text": '<p style="color: #949494; font-size: 24px">grey</p>',
    "large and bold": '<b style="color: #949494; font-size: 18.7px">grey</b>',
    "out of use": '<button disabled style="color: #999">grey</button>',
    "folded": '<details><summary>y</summary><i style="color: #999">grey</i></details>',
    "hidden": '<p style="visibility: hidden; color: #999">grey</p>',
    "no text": '<p style="color: #999"> <b style="color: #000">grey</b></p>',
}
BAD = {
    "scrollable-region-focusable": (
        '<pre style="overflow: auto; width: 99px"><span class="k">'
        f"{'wide ' * 40}</span><br>{'<br>'.join('abc')}</pre>"
    ),
    "link-in-text-block": (
        '<p>A text with <a href="#x" style="color: #333; text-decoration: none">links'
        '</a> <span class="katex"><span class="katex-html" aria-hidden="true">'
        '<span class="base">x</span></span></span> in it.</p>'
    ),
    "aria-roles": '<pre><span class="k" role="nonsense">x</span></pre>',
    "aria-hidden-focus": (
        '<span class="katex-html" aria-hidden="true"><a href="#x">x</a></span>'
    ),
    "nested-interactive": (
        '<svg role="img" aria-label="x"><a href="#x" aria-label="x"></a></svg>'
    ),
    "image-alt": '<pre><span class="k"><img src="data:,"></span></pre>',
}


@pytest.fixture(scope="module")
def page(swift_browser: Browser) -> Iterator[Page]:
    """Open an empty page."""
    page = swift_browser.new_page()
    yield page
    page.close()


def show(page: Page, content: str) -> Page:
    """Show a page with nothing else to complain about."""
    page.set_content(
        f'<!doctype html><html lang="en"><title>x</title><main><h1>x</h1>{content}'
    )
    return page


@pytest.mark.parametrize("content", FAINT.values(), ids=FAINT)
def test_what_is_too_faint_is_found(page: Page, content: str) -> None:
    assert len(faint(show(page, content))) == 1
    assert [rule for rule, _ in found_by_axe(page)] == [COLOURS]


@pytest.mark.parametrize("content", CLEAR.values(), ids=CLEAR)
def test_what_is_clear_enough_is_not(page: Page, content: str) -> None:
    assert faint(show(page, content)) == found_by_axe(page) == []


@pytest.mark.parametrize("rule", BAD)
def test_a_shorter_page_breaks_the_same_rules(page: Page, rule: str) -> None:
    alone = found_by_axe(show(page, BAD[rule]))

    assert [one for one, _ in alone] == [rule]
    assert [one for one, _ in violations(page)] == [rule]


def test_axe_alone_finds_no_more(other_window: Window) -> None:
    """In the dark only the colours are others."""
    opened = other_window.open(DAY)

    assert found_by_axe(opened.page) == []
    assert found_by_axe(opened.show(theme="dark"), runOnly=[COLOURS]) == []
