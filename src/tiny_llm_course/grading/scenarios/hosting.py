"""One real server for all tests of a process, which serves one application at a time.

To start and to stop uvicorn takes 0.2 s, and a day has a hundred servers to try.
"""

import asyncio
import contextlib
import functools
import threading
from collections.abc import Awaitable, Callable, Coroutine, Generator, MutableMapping
from typing import Any, TypeVar

import uvicorn

START_S = 20.0

T = TypeVar("T")
Message = MutableMapping[str, Any]
Application = Callable[..., Awaitable[None]]


class Host:
    """A server on a free port of this machine, on an event loop of its own.

    Attributes:
        url: Where it is.
        errors: What the application raised that is served now.
    """

    def __init__(self) -> None:
        self.errors: list[Exception] = []
        self._app: Application | None = None
        self._loop = asyncio.new_event_loop()
        config = uvicorn.Config(
            self._dispatch,
            interface="asgi3",
            port=0,
            lifespan="off",
            log_config=None,
            access_log=False,
        )
        self._server = uvicorn.Server(config)
        threading.Thread(target=self._serve, name="host", daemon=True).start()
        port = self.run(self._port())
        self.url = f"http://127.0.0.1:{port}"

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Do something on the event loop of the server."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(START_S)

    def begin(self, work: Coroutine[Any, Any, object]) -> None:
        """Begin something on the event loop of the server, and do not wait for it."""
        asyncio.run_coroutine_threadsafe(work, self._loop)

    @contextlib.contextmanager
    def serving(self, app: Any) -> Generator[None]:  # noqa: ANN401 - Starlette
        """Serve an application while the block runs, between its start and its end."""
        ended = asyncio.Event()
        started: asyncio.Future[None] = self._loop.create_future()
        living = asyncio.run_coroutine_threadsafe(
            self._live(app, started, ended), self._loop
        )
        try:
            self.run(_result(started))
            self._app, self.errors = app, []
            yield
        finally:
            self._app = None
            self._loop.call_soon_threadsafe(ended.set)
            living.result(START_S)

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._server.serve())

    async def _port(self) -> int:
        while not self._server.started:
            await asyncio.sleep(0.002)
        return self._server.servers[0].sockets[0].getsockname()[1]

    @staticmethod
    async def _live(
        app: Any,  # noqa: ANN401 - Starlette
        started: asyncio.Future[None],
        ended: asyncio.Event,
    ) -> None:
        """Start an application and end it, in one task, as servers do."""
        try:
            async with app.router.lifespan_context(app):
                started.set_result(None)
                await ended.wait()
        except BaseException as error:  # whoever waits for the start is told
            if not started.done():
                started.set_exception(error)
                return
            raise

    async def _dispatch(
        self,
        scope: Message,
        receive: Callable[[], Awaitable[Message]],
        send: Callable[[Message], Awaitable[None]],
    ) -> None:
        """Pass a request on to the application, and keep what it raises."""
        app = self._app
        if app is None:
            return
        try:
            await app(scope, receive, send)
        except Exception as error:  # noqa: BLE001 - of whatever solution
            self.errors.append(error)


async def _result(future: asyncio.Future[T]) -> T:
    return await future


@functools.cache
def host() -> Host:
    """Return the server of this process."""
    return Host()
