"""`pdm run book`: its errors on misuse, and what it serves."""

import http.server
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import tomllib
import urllib.request
from collections.abc import Callable, Iterator
from importlib import metadata

import pytest
from click.testing import Result

from tiny_llm_course.book import checking, links
from tiny_llm_course.book.serving import HOST
from tiny_llm_course.commands.book import PACKAGES
from tiny_llm_course.places import BOOK, ROOT, Checkout

Run = Callable[[str], Result]
COMMAND = "from tiny_llm_course.commands.book import command; command()"


def test_a_page_that_is_not_there_is_named_with_the_nearest(pdm_run: Run) -> None:
    result = pdm_run("book setpu#linux")

    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == (
        "book: there is no page 'setpu' in the book; the nearest is setup\n"
    )


def test_the_book_asks_for_every_package_of_its_group() -> None:
    """So that an older environment without a new package gets an error."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    group = {re.split("[>=<]", one)[0] for one in project["dependency-groups"]["book"]}
    brought_by = metadata.packages_distributions()

    asked = {re.sub("_", "-", brought_by[name][0]).lower() for name in PACKAGES}

    tests_and_types = {one for one in group if re.match("types-|.*playwright", one)}
    assert group - asked == tests_and_types


class Silent(http.server.BaseHTTPRequestHandler):
    """A server that is not the book's, and has no pages."""

    def do_GET(self) -> None:
        self.send_error(404)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def other_server() -> Iterator[int]:
    """Run a server that is not the book's on a port."""
    with http.server.ThreadingHTTPServer((HOST, 0), Silent) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()


def test_a_port_that_something_else_has_is_an_error(
    pdm_run: Run, other_server: int
) -> None:
    result = pdm_run(f"book --no-open --port {other_server}")

    assert result.exit_code == 2
    assert result.stderr == (
        f"book: port {other_server} is in use by something else; give another one "
        "with --port\n"
    )


@pytest.fixture
def small_book(checkout: Checkout) -> Checkout:
    """Give the checkout a book of one page, without chapter data."""
    without = shutil.ignore_patterns("build", "en", "katex", "chapter_data")
    shutil.copytree(BOOK, checkout.book, ignore=without)
    (checkout.book / "chapter_data").mkdir()
    (checkout.book / "en").mkdir()
    index = "# A book\n\n```{toctree}\nsetup\n```\n"
    (checkout.book / "en" / "index.md").write_text(index, encoding="utf-8")
    (checkout.book / "en" / "setup.md").write_text("# Set-up\n", encoding="utf-8")
    return checkout


@pytest.fixture
def free_port() -> int:
    """Return a free port."""
    with socket.socket() as asking:
        asking.bind((HOST, 0))
        return asking.getsockname()[1]


def test_the_book_is_served_and_a_second_call_finds_it(
    pdm_run: Run, small_book: Checkout, free_port: int
) -> None:
    arguments = ["--no-open", "--port", str(free_port)]
    serving = subprocess.Popen(
        [sys.executable, "-c", COMMAND, *arguments],
        env=os.environ | {"TINY_LLM_HOME": str(small_book.root)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        page = wait_for(f"http://{HOST}:{free_port}/en/setup.html")
        again = pdm_run(f"book --no-open --port {free_port} setup#linux")
    finally:
        stop(serving)

    assert b"<h1>" in page
    assert again.exit_code == 0
    assert again.stdout == (
        "the book is being served already: "
        f"http://{HOST}:{free_port}/en/setup.html#linux\n"
    )


def wait_for(url: str) -> bytes:
    """Request a page until it is there."""
    for _ in range(300):
        try:
            with urllib.request.urlopen(url, timeout=5) as answer:  # noqa: S310
                return answer.read()
        except OSError:
            time.sleep(0.3)
    raise TimeoutError(url)


def stop(process: subprocess.Popen[bytes]) -> None:
    """End a process and those that it has started."""
    os.killpg(process.pid, signal.SIGTERM)
    process.wait(timeout=20)


@pytest.mark.parametrize(("found", "code"), [([], 0), (["setup.md:3: teh"], 1)])
def test_a_check_ends_with_what_it_found(
    found: list[str], code: int, pdm_run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checking, "complaints", lambda _: found)

    result = pdm_run("book --check")

    assert result.exit_code == code
    assert result.stderr.splitlines() == found
    assert result.stdout.startswith(f"{len(found)} complaints about the book, ")


def test_links_are_listed(pdm_run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(links, "external", lambda: ["https://example.org  setup"])

    result = pdm_run("book --links")

    assert (result.exit_code, result.stdout) == (0, "https://example.org  setup\n")


def test_a_page_that_is_not_there_cannot_be_checked(pdm_run: Run) -> None:
    result = pdm_run("book --check --only setpu")

    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == "book: expected a page, got 'setpu'; see book/en\n"
