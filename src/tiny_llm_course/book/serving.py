"""The book in a browser, rebuilt whenever a file of it changes."""

import difflib
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
import webbrowser

from tiny_llm_course.book import building
from tiny_llm_course.book.markdown import chapters
from tiny_llm_course.catalogue import say
from tiny_llm_course.errors import CourseError
from tiny_llm_course.places import BOOK, ROOT

HOST = "127.0.0.1"
WAIT_S = 120
_WATCHED = ("static", "chapter_data", "templates", "conf.py")


def serve(page: str, port: int, *, open_browser: bool) -> int:
    """Serve the book until Ctrl-C, and show a page of it.

    Args:
        page: A chapter, which an anchor may follow: "setup", "setup#linux".
        port: The port on the loopback address.
        open_browser: Show the page.

    Returns:
        The exit code.

    Raises:
        CourseError: There is no such page, or the port is taken by another program.
    """
    url = f"http://{HOST}:{port}/{_file(page)}"
    if _is_taken(port):
        if not _is_the_book(port):
            raise CourseError(say("book.commands.port_taken", port=port))
        print(say("book.commands.opened", url=url))
        if open_browser:
            webbrowser.open(url)
        return 0
    if open_browser:
        threading.Thread(target=_open_when_up, args=(port, url), daemon=True).start()
    watched = [str(BOOK / name) for name in _WATCHED]
    options = [part for path in watched for part in ("--watch", path)]
    try:
        return subprocess.call(
            [
                *(sys.executable, "-m", "sphinx_autobuild", *options),
                *("--host", HOST, "--port", str(port)),
                *building.places("en", building.BUILT),
            ],
            cwd=ROOT,
            env={**os.environ, "BOOK_LANG": "en"},
        )
    except KeyboardInterrupt:
        return 0


def _file(page: str) -> str:
    """Return the file of a page, and the anchor on it.

    Raises:
        CourseError: There is no such page.
    """
    name, hash_, anchor = page.partition("#")
    name = name.removesuffix(".html").removesuffix(".md")
    known = [path.stem for path in chapters()]
    if name not in known:
        (nearest,) = difflib.get_close_matches(name, known, n=1, cutoff=0.0)
        raise CourseError(say("book.commands.no_page", page=name, nearest=nearest))
    return f"{name}.html{hash_}{anchor}"


def _is_taken(port: int) -> bool:
    with socket.socket() as asking:
        asking.settimeout(1)
        return asking.connect_ex((HOST, port)) == 0


def _is_the_book(port: int) -> bool:
    try:
        with urllib.request.urlopen(
            f"http://{HOST}:{port}/objects.inv", timeout=2
        ) as answer:
            return b"Project: tiny-llm" in answer.read(200)
    except (OSError, ValueError, urllib.error.URLError):
        return False


def _open_when_up(port: int, url: str) -> None:
    """Open a page as soon as the book is built and served."""
    deadline_s = time.monotonic() + WAIT_S
    while time.monotonic() < deadline_s:
        if _is_taken(port):
            webbrowser.open(url)
            return
        time.sleep(0.2)
