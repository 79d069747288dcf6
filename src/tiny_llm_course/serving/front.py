"""The page and its events, in front of a solution's server."""

import asyncio
import base64
import contextlib
import hmac
import json
from collections.abc import AsyncGenerator
from pathlib import Path
from string import Template
from typing import Any
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from tiny_llm_course.catalogue import say
from tiny_llm_course.language import current
from tiny_llm_course.serving.running import is_loopback
from tiny_llm_course.serving.watched import WatchedEngine

FOLDER = Path(__file__).parent / "page"
KINDS = {"page.js": "text/javascript", "page.css": "text/css"}
WORDS = (
    *("title", "question", "ask", "ask_four", "stop", "running", "waiting", "speed"),
    *("pages", "shared", "nobody", "touch", "chance", "others", "lost", "example"),
    *("of_prompt", "of_answer", "free", "engine", "model"),
)
"""The texts of the page, by their keys in the catalogue."""
PAUSE_S = 0.05
"""Between two events: more often nobody can see."""

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        "img-src data:; "
        "form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
"""The page loads nothing from elsewhere, and sends nothing there."""


class Front:
    """An application: the page under `/`, and a solution's server under all else.

    A browser cannot send the header `Authorization: Bearer KEY` for a page. It asks its
    user for a password instead, which is the key, and the server gets the header.

    Without a key, whoever can reach this machine itself is answered; but no page of a
    stranger, who may let the name that it came from lead here.

    Args:
        server: Of a solution.
        engine: What it serves.
        model_name: How clients call the model.
        key: What every request has to bring. None is nothing.
    """

    def __init__(
        self, server: ASGIApp, engine: WatchedEngine, model_name: str, key: str | None
    ) -> None:
        self._server, self._engine = server, engine
        self._model_name, self._key = model_name, key
        self._listeners: set[asyncio.Event] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        engine.told = self._tell
        routes = [
            Route("/", self._page),
            Route("/events", self._events),
            *(Route(f"/{name}", self._file) for name in KINDS),
        ]
        self._own, self._paths = Starlette(routes=routes), {one.path for one in routes}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or hand it to the server."""
        if scope["type"] == "lifespan":
            self._loop = asyncio.get_running_loop()
        if scope["type"] != "http":
            await self._server(scope, receive, send)
            return
        if self._key is None and _is_lured(scope):
            told = say("serve.foreign_host")
            await PlainTextResponse(told, 403)(scope, receive, send)
            return
        key = _password(Headers(scope=scope))
        if scope["path"] not in self._paths:
            known = scope if key is None else _with_bearer(scope, key)
            await self._server(known, receive, send)
        elif self._key and not hmac.compare_digest(key or b"", self._key.encode()):
            asks = {"WWW-Authenticate": 'Basic realm="tiny-llm", charset="UTF-8"'}
            await Response(status_code=401, headers=asks)(scope, receive, send)
        else:
            await self._own(scope, receive, send)

    async def _page(self, _: Request) -> Response:
        """Return the page with its words."""
        text = (FOLDER / "index.html").read_text(encoding="utf-8")
        words = {name: say(f"serve.page.{name}") for name in WORDS}
        settings = json.dumps({**words, "model_name": self._model_name})
        filled = Template(text).substitute(
            language=current(), settings=settings.replace("<", "\\u003c"), **words
        )
        return Response(filled, media_type="text/html", headers=HEADERS)

    async def _file(self, request: Request) -> Response:
        name = request.url.path[1:]
        text = (FOLDER / name).read_text(encoding="utf-8")
        return Response(text, media_type=KINDS[name], headers=HEADERS)

    async def _events(self, _: Request) -> Response:
        return StreamingResponse(
            self._changes(), media_type="text/event-stream", headers=HEADERS
        )

    async def _changes(self) -> AsyncGenerator[str]:
        """Yield how things stand, after each change."""
        changed = asyncio.Event()
        self._listeners.add(changed)
        try:
            while True:
                changed.clear()
                yield f"data: {json.dumps(self._engine.snapshot)}\n\n"
                await asyncio.sleep(PAUSE_S)
                await changed.wait()
        finally:
            self._listeners.discard(changed)

    def _tell(self) -> None:
        """Wake all who listen. Called on the engine's thread."""
        if self._loop is None:
            return
        for one in tuple(self._listeners):
            # The loop may have ended before the engine's last step.
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(one.set)


def _is_lured(scope: Scope) -> bool:
    """Tell whether a loopback address was reached under a name that it does not have.

    A browser lets a page talk to the host that it came from, wherever the name of that
    host leads by now. It still tells the name.
    """
    host = Headers(scope=scope).get("host")  # all browsers send it
    return bool(host) and is_loopback(scope["server"][0]) and not _is_own(host)


def _is_own(host: str) -> bool:
    """Tell whether a header names this machine as only itself does."""
    with contextlib.suppress(ValueError):
        name = urlsplit(f"//{host}").hostname
        return name == "localhost" or is_loopback(name or "")
    return False


def _password(headers: Headers) -> bytes | None:
    """Return the password that a browser sends, if it is one that sends any."""
    kind, _, encoded = headers.get("authorization", "").partition(" ")
    if kind.lower() != "basic":
        return None
    with contextlib.suppress(ValueError):
        return base64.b64decode(encoded, validate=True).partition(b":")[2]
    return None


def _with_bearer(scope: Scope, key: bytes) -> dict[str, Any]:
    """Return a request with the key as clients of OpenAI send it."""
    others = [one for one in scope["headers"] if one[0] != b"authorization"]
    headers = [*others, (b"authorization", b"Bearer " + key)]
    return {**scope, "headers": headers}
