"""What goes wrong is folded away, until a link leads there."""

import time
from collections.abc import Callable

from playwright.sync_api import Route, expect

CHAPTER = "week-1-day-4-rmsnorm-and-mlp"
ENTRY = "details#mean-subtracted"


def late(route: Route) -> None:
    """Let a script come after those that wait for no other."""
    time.sleep(0.1)
    route.continue_()


def test_mistakes_are_folded(open_page: Callable) -> None:
    """They give the answers away, and are many."""
    page = open_page(CHAPTER).page

    assert page.locator("details.mistakes").count() > 5
    assert page.locator("details.mistakes[open], details.mistake[open]").count() == 0


def test_the_link_of_a_report_opens_the_entry_and_its_group(
    open_page: Callable,
) -> None:
    page = open_page(CHAPTER).page

    page.evaluate("location.hash = 'mean-subtracted'")

    expect(page.locator(f"{ENTRY} > .sd-summary-content")).to_be_in_viewport()
    assert page.locator("details.mistakes[open]").count() == 1
    assert page.locator("details.mistake[open]").count() == 1


def test_a_page_opens_where_its_address_says(open_page: Callable) -> None:
    """Also where the figures above come late, and grow."""
    page = open_page(CHAPTER).page
    page.route("**/interactive/*.js*", late)

    address = f"{page.url}#mean-subtracted"
    page.goto("about:blank")
    page.goto(address)
    page.unroute("**/interactive/*.js*")

    expect(page.locator(f"{ENTRY} > .sd-summary-content")).to_be_in_viewport()
