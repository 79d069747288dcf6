"""A browser, and the built book in it: what the tests of the pages run on."""

import json
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from tiny_llm_course.book import building
from tiny_llm_course.book.chapter_data import values_of
from tiny_llm_course.language import ENGLISH

FLAGS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic"),
    *("--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
    "--font-render-hinting=none",  # else the headless shell rounds the width of letters
]
DRAWN_BY_ONE_THREAD = "--disable-threaded-compositing"
"""Saves a third of the time. With it no picture is ever drawn: a page does not scroll
to a heading, and each movement of the mouse waits for five seconds."""
WIDTH = 1280

SET_FOR_TESTS = ("TINY_LLM_KERNELS", "TINY_LLM_WATCH")
"""Settings of a process that grades. A book built with them counts other operations."""

DRAWN_ANEW = """
async (name) => {
  const old = document.querySelector(`#figure-${name}`);
  const fresh = old.cloneNode(false);
  fresh.append(old.querySelector("script"));
  delete fresh.dataset.ready;
  old.replaceWith(fresh);
  const script = document.createElement("script");
  script.src = document.querySelector(`script[src*="/${name}.js"]`).src;
  await new Promise((done) => { script.onload = done; document.head.append(script); });
}
"""
"""Puts a figure in its place as it is built, and runs its script once more."""

MOVED = """
([name, moves]) => {
  const set = (node, value) => {
    if (node.disabled) throw Error("a reader cannot move this");
    if (node.type === "checkbox") {
      if (node.checked !== value) node.click();
      return;
    }
    node.value = value;
    if (node.value !== String(value)) throw Error(`${value} became ${node.value}`);
    node.dispatchEvent(new Event("input", { bubbles: true }));
    node.dispatchEvent(new Event("change", { bubbles: true }));
  };
  const figure = document.querySelector(`#figure-${name}`);
  for (const [control, value] of moves) {
    const found = figure.querySelectorAll(`[data-control="${control}"]`);
    if (found.length !== 1) throw Error(`${found.length} ${control}`);
    if (value === null) found[0].click();
    else set(found[0], value);
  }
  const shown = [...figure.querySelectorAll("[data-readout]")];
  return shown.map(({ dataset }) => [dataset.readout, dataset.value || "null"]);
}
"""
"""Gives controls values that a reader could give them, or presses them, and returns
what the figure shows then."""


def find_chromium() -> str | None:
    """Return the path of a Chromium or Chrome, or of the one that CHROMIUM names.

    The headless shell comes first: it has no windows, and takes a quarter less time.
    """
    shell, google = "chromium-headless-shell", "google-chrome"
    names = (shell, "chromium", "chromium-browser", google, f"{google}-stable")
    mac = "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"
    found = [os.environ.get("CHROMIUM"), *map(shutil.which, names), mac]
    return next((one for one in found if one and Path(one).exists()), None)


@dataclass
class OpenPage:
    """A page of the book in the browser.

    Attributes:
        page: As Playwright sees it.
        complaints: Errors on its console, and what it could not load.
    """

    page: Page
    complaints: list[str] = field(default_factory=list)

    _look: tuple[int, str] | None = field(default=None, init=False, repr=False)

    def show(self, *, width: int = WIDTH, theme: str = "light") -> Page:
        """Show it in a window of this width, in the colours of a theme."""
        if self._look != (width, theme):
            self._look = width, theme
            self.page.set_viewport_size({"width": width, "height": 900})
            self.page.emulate_media(color_scheme=theme)
        return self.page


@dataclass
class OpenFigure:
    """An interactive figure on an open page.

    Attributes:
        opened: The page.
        chapter: That of the page.
        name: Of the figure.
    """

    opened: OpenPage
    chapter: str
    name: str

    _shown: list[tuple[str, str]] | None = field(default=None, init=False, repr=False)

    @property
    def data(self) -> Any:  # noqa: ANN401 - as the chapter has it
        """What the figure starts from."""
        return values_of(self.chapter, "data")[self.name]

    @property
    def page(self) -> Page:
        """That of the figure, which may show something else when it was touched."""
        self._shown = None
        return self.opened.page

    def set(self, **controls: float | str | bool) -> None:
        """Move sliders, choose from lists, tick boxes: in this order."""
        self._shown = self._moved(*controls.items())

    def press(self, control: str) -> None:
        """Press a button."""
        self._shown = self._moved((control, None))

    def read(self, readout: str) -> Any:  # noqa: ANN401 - a number or a list of them
        """Return what the figure shows under a name, in full precision."""
        self._shown = self._shown or self._moved()
        (value,) = (value for name, value in self._shown if name == readout)
        return json.loads(value)

    def _moved(self, *moves: tuple[str, object]) -> list[tuple[str, str]]:
        """Move controls, and return what is shown then: a test asks for most of it.

        Without Playwright's pointer and keyboard, which wait for the next picture to be
        drawn: `test_pages` has every control reached and moved by them.
        """
        return self.opened.page.evaluate(MOVED, [self.name, moves])


@pytest.fixture(scope="session")
def start() -> Iterator[Callable[..., Browser]]:
    """Return a function that starts the browser of this machine, with some flags."""
    path = find_chromium()
    if path is None:
        pytest.skip("no Chromium here: install `chromium`, or set CHROMIUM to its path")
    with sync_playwright() as playwright:
        launch = playwright.chromium.launch
        yield lambda *flags: launch(executable_path=path, args=[*FLAGS, *flags])


@pytest.fixture(scope="session")
def browser(start: Callable[..., Browser]) -> Iterator[Browser]:
    """Start a browser as readers have it."""
    with start() as started:
        yield started


@pytest.fixture(scope="session")
def swift_browser(start: Callable[..., Browser]) -> Iterator[Browser]:
    """Start one for pages whose headings nobody goes to, and no mouse."""
    with start(DRAWN_BY_ONE_THREAD) as started:
        yield started


@pytest.fixture(scope="session")
def built() -> Path:
    """Return the folder of the built book, which BOOK names.

    Without a name it is built here: `pdm run test-book` builds it first and names it.
    """
    if "BOOK" in os.environ:
        return Path(os.environ["BOOK"])
    with pytest.MonkeyPatch.context() as plain:
        for name in SET_FOR_TESTS:
            plain.delenv(name)
        assert building.complaints() == []
    return building.BUILT


@dataclass
class Window:
    """A window of the browser, in which one page is open at a time.

    A window takes longer to open than a page in it.

    Attributes:
        opened: The page.
        folder: That of the built pages.
    """

    opened: OpenPage
    folder: Path

    @classmethod
    def of(cls, browser: Browser, built: Path, language: str = ENGLISH) -> "Window":
        """Open one for a language, and note what its pages complain about."""
        opened = OpenPage(browser.new_context().new_page())
        page, complaints = opened.page, opened.complaints
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("requestfailed", lambda asked: complaints.append(asked.url))
        page.on(
            "console",
            lambda said: (
                said.type in {"error", "warning"} and complaints.append(said.text)
            ),
        )
        return cls(opened, built / language)

    def open(self, name: str, *, width: int = WIDTH) -> OpenPage:
        """Open a page anew from its file, as without a server."""
        file = self.folder / f"{name}.html"
        assert file.read_bytes(), "a check sees what Python reads, and no browser"
        self.opened.complaints.clear()
        self.opened.show(width=width)
        if self.opened.page.url.partition("#")[0] == file.as_uri():
            self.opened.page.goto("about:blank")  # else it would stay, whatever its #
        self.opened.page.goto(file.as_uri())
        return self.opened

    def open_figure(self, chapter: str, name: str) -> OpenFigure:
        """Show a figure as it was when its page opened. If that is open, it stays so.

        A whole page takes longer to open than a figure to be drawn.
        """
        if not self.opened.page.url.endswith(f"/{chapter}.html"):
            self.open(chapter)
        self.opened.complaints.clear()
        self.opened.page.evaluate(DRAWN_ANEW, name)
        return OpenFigure(self.opened, chapter, name)


@pytest.fixture(scope="session")
def window(browser: Browser, built: Path) -> Window:
    """Open the window of the tests that touch a page."""
    return Window.of(browser, built)


@pytest.fixture(scope="session")
def figure_window(swift_browser: Browser, built: Path) -> Window:
    """Open the window of the tests that touch a figure."""
    return Window.of(swift_browser, built)


@pytest.fixture
def open_page(window: Window) -> Callable[[str], OpenPage]:
    """Return a function that opens a page."""
    return window.open


@pytest.fixture(scope="session")
def other_window(swift_browser: Browser, built: Path) -> Window:
    """Open the window of the tests that only look at a page."""
    return Window.of(swift_browser, built)


@pytest.fixture(scope="module")
def opened(request: pytest.FixtureRequest, other_window: Window) -> OpenPage:
    """Open the page that is the parameter, once for all tests that look at it."""
    return other_window.open(request.param)


@pytest.fixture
def open_figure(figure_window: Window) -> Iterator[Callable[[str, str], OpenFigure]]:
    """Return a function that shows a figure.

    Whatever the test does with it: the page must not complain.
    """
    yield figure_window.open_figure
    assert figure_window.opened.complaints == []


@pytest.fixture
def figure(
    request: pytest.FixtureRequest, open_figure: Callable[[str, str], OpenFigure]
) -> OpenFigure:
    """Open the figure that a module of tests is about: its CHAPTER and NAME."""
    return open_figure(request.module.CHAPTER, request.module.NAME)
