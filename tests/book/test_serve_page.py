"""The page of `pdm run serve` in a browser, with an engine that follows a script."""

import threading
import time
from collections.abc import Iterator
from types import SimpleNamespace

import pytest
import uvicorn
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from tiny_llm_course.grading.scenarios.scripted_engine import ScriptedEngine
from tiny_llm_course.serving.front import Front
from tiny_llm_course.serving.watched import WatchedEngine
from tiny_llm_course.solution import load_solution

PHONE, DESK = 375, 1280
PAGES = {"first": [3, 5, 6], "second": [3, 5, 9]}


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Serve the page: two requests run, and one waits."""
    solution = load_solution("ref")
    engine = ScriptedEngine(solution, text="a red fox", step_s=0.01)
    waiting = SimpleNamespace(id="c", prompt=[1] * 9, output=[], block_table=[])
    running = [
        SimpleNamespace(id=name, prompt=[1] * 40, output=[1, 2], block_table=table)
        for name, table in PAGES.items()
    ]
    standing = {"running": running, "waiting": [waiting]}
    engine.scheduler = SimpleNamespace(**standing)  # type: ignore[attr-defined]
    numbers = {"num_in_use": 4, "num_free": 28}
    engine.block_manager = SimpleNamespace(**numbers)  # type: ignore[attr-defined]
    watched = WatchedEngine(engine)
    app = solution.get("server.create_app")(watched, solution.get("limits.Limits")())
    front = Front(app, watched, "tiny", None)
    config = uvicorn.Config(
        front, port=0, interface="asgi3", log_config=None, timeout_graceful_shutdown=1
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    yield f"http://127.0.0.1:{port}/"
    server.should_exit = True
    thread.join()


@pytest.fixture
def opened(browser: Browser, address: str) -> Iterator[tuple[Page, list[str]]]:
    """Open it, and note what it complains of and whom it asks."""
    page = browser.new_page()
    complaints: list[str] = []
    page.on("console", lambda one: complaints.append(one.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on(
        "request",
        lambda one: one.url.startswith(address) or complaints.append(one.url),
    )
    page.goto(address)
    yield page, complaints
    page.close()


def test_words_stream_and_tell_how_likely_they_were(
    opened: tuple[Page, list[str]],
) -> None:
    page, complaints = opened

    page.locator("#ask").click()
    expect(page.locator(".answer")).to_have_text("a red fox")
    seen = page.locator(".answer").evaluate("node => node.innerText")
    assert seen == "a red fox"  # with the spaces, which the text has in any case
    page.locator(".answer [role=button]").nth(2).click()

    box = page.locator("#token")
    expect(box).to_contain_text("r  probability: 88.7 %")
    expect(box.locator("li")).to_have_count(3)
    page.keyboard.press("Escape")
    expect(box).to_be_hidden()
    assert complaints == []


def test_lines_break_between_words_and_a_token_is_reached_by_keyboard(
    opened: tuple[Page, list[str]],
) -> None:
    page, complaints = opened
    page.locator("#ask").click()
    answer = page.locator(".answer")
    expect(answer).to_have_text("a red fox")

    lines = answer.evaluate("""node => {
        node.style.width = "1px";
        node.style.overflowWrap = "normal";
        return [...node.children].map(one => [
            one.textContent, one.getBoundingClientRect().top,
        ]);
    }""")
    of_letters = [(letter, top) for letter, top in lines if letter != " "]
    words = {top: "" for _, top in of_letters}
    for letter, top in of_letters:
        words[top] += letter
    assert list(words.values()) == ["a", "red", "fox"]
    page.locator(".answer [role=button]").nth(2).focus()
    page.keyboard.press("Enter")
    expect(page.locator("#token")).to_contain_text("r  probability")
    assert complaints == []


def test_four_answers_come_at_once(opened: tuple[Page, list[str]]) -> None:
    page, complaints = opened

    page.locator("#four").click()

    expect(page.locator(".answer")).to_have_text(["a red fox"] * 4)
    expect(page.locator("#stop")).to_be_disabled()
    assert complaints == []


def test_engine_at_work_is_drawn(opened: tuple[Page, list[str]]) -> None:
    """Who runs and who waits, the pages of each, and a frame around shared ones."""
    page, complaints = opened

    expect(page.locator("#running")).to_have_text("2")
    expect(page.locator("#waiting")).to_have_text("1")
    expect(page.locator("#pages")).to_contain_text("4 (28")
    expect(page.locator(".cell")).to_have_text(["3", "5", "6", "3", "5", "9"])
    expect(page.locator(".cell.shared")).to_have_text(["3", "5", "3", "5"])
    expect(page.locator("#nobody")).to_be_hidden()
    assert complaints == []


def test_refusal_is_shown_where_the_answer_would_be(
    opened: tuple[Page, list[str]],
) -> None:
    page, _ = opened

    page.locator("#question").fill("x" * 200)
    page.locator("#ask").click()

    expect(page.locator(".failed")).to_contain_text("99 tokens at most")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [PHONE, DESK])
def test_page_fits_and_can_be_read(
    opened: tuple[Page, list[str]], width: int, theme: str
) -> None:
    """On a phone, too, by everybody, in both themes."""
    page, complaints = opened
    page.set_viewport_size({"width": width, "height": 800})
    page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]

    page.locator("#ask").click()
    expect(page.locator(".answer")).to_have_text("a red fox")

    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert Axe().run(page).response["violations"] == []
    assert complaints == []
