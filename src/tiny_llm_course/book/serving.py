"""The book in a browser, rebuilt whenever a file of it changes."""

import difflib
import socket
import threading
import time
import urllib.error
import urllib.request
import webbrowser
from collections.abc import Sequence
from os import PathLike
from pathlib import Path

import uvicorn
from sphinx_autobuild.filter import IgnoreFilter  # pyright: ignore
from sphinx_autobuild.middleware import JavascriptInjectorMiddleware  # pyright: ignore
from sphinx_autobuild.server import RebuildServer  # pyright: ignore
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import Mount, WebSocketRoute
from starlette.staticfiles import StaticFiles

from tiny_llm_course.book import building
from tiny_llm_course.book.languages import languages, of_reader
from tiny_llm_course.book.markdown import chapters
from tiny_llm_course.catalogue import say
from tiny_llm_course.errors import CourseError
from tiny_llm_course.places import BOOK

HOST = "127.0.0.1"
WAIT_S = 120
_WATCHED = ("static", "chapter_data", "templates", "conf.py")


def serve(page: str, port: int, *, open_browser: bool) -> int:
    """Serve the book until Ctrl-C, and show a page of it in the reader's language.

    Args:
        page: A chapter, which an anchor may follow: "setup", "setup#linux".
        port: The port on the loopback address.
        open_browser: Show the page.

    Returns:
        The exit code.

    Raises:
        CourseError: There is no such page, or the port is taken by another program.
    """
    url = f"http://{HOST}:{port}/{of_reader()}/{_file(page)}"
    if _is_taken(port):
        if not _is_the_book(port):
            raise CourseError(say("book.commands.port_taken", port=port))
        print(say("book.commands.opened", url=url))
        if open_browser:
            webbrowser.open(url)
        return 0
    if open_browser:
        threading.Thread(target=_open_when_up, args=(port, url), daemon=True).start()
    rebuild(())
    print(say("book.commands.serving", url=url), flush=True)
    uvicorn.run(_site(port), host=HOST, port=port, log_level="warning")
    return 0


def rebuild(changed_paths: Sequence[Path]) -> None:
    """Bring all languages of the built book up to date, and print what is wrong.

    Args:
        changed_paths: What has changed. Sphinx finds out by itself.
    """
    del changed_paths
    print(building.build().stdout, end="", flush=True)


def _site(port: int) -> Starlette:
    """Return a server of the built book, which builds again after every change."""
    watched: list[PathLike[str]] = [BOOK / one for one in (*_WATCHED, *languages())]
    rebuilding = RebuildServer(watched, IgnoreFilter([], []), rebuild)
    return Starlette(
        routes=[
            WebSocketRoute("/websocket-reload", rebuilding),
            Mount("/", StaticFiles(directory=building.BUILT, html=True)),
        ],
        middleware=[
            Middleware(JavascriptInjectorMiddleware, ws_url=f"{HOST}:{port}"),
        ],
        lifespan=rebuilding.lifespan,  # pyright: ignore[reportArgumentType]
    )


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
            f"http://{HOST}:{port}/{languages()[0]}/objects.inv", timeout=2
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
