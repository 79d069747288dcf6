"""Running a server until a signal: the answers that run come to their end."""

import asyncio
import contextlib
import errno
import ipaddress
import signal
import socket
from collections.abc import Callable, Generator
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from tiny_llm_course.catalogue import say
from tiny_llm_course.errors import CourseError

SIGNALS = (signal.SIGINT, signal.SIGTERM)


def bound(host: str, port: int) -> socket.socket:
    """Take an address.

    Raises:
        CourseError: It is taken by another program, or is none of this machine.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Named as TCP: only then does asyncio turn off Nagle's algorithm, which would hold
    # the second part of an answer back for 40 ms.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen()  # from here on clients wait instead of being refused
    except OSError as error:
        listening.close()
        key = "port_in_use" if error.errno == errno.EADDRINUSE else "no_address"
        raise CourseError(say(f"serve.{key}", host=host, port=port)) from None
    return listening


def address_of(listening: socket.socket) -> str:
    """Return the address of a socket, as a browser takes it."""
    host, port = listening.getsockname()[:2]
    named = f"[{host}]" if ":" in host else host
    return f"http://{named}:{port}"


def is_loopback(address: str) -> bool:
    """Tell whether only this machine can reach an address."""
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(address).is_loopback
    return False


def run(
    app: Any,  # noqa: ANN401 - an ASGI application
    listening: socket.socket,
    limits: Any,  # noqa: ANN401 - of a solution
    drain: Callable[[], Any],
) -> None:
    """Serve an application until a signal, and then until its answers have ended.

    Meanwhile new requests are answered, too: by what the application says then. A
    second signal ends it at once.

    Args:
        app: The application.
        listening: A socket with an address.
        limits: Of its clients.
        drain: Gives something to await, until which nothing may be broken off.
    """
    config = uvicorn.Config(
        app,
        http=timed(limits.head_timeout_s),
        interface="asgi3",
        h11_max_incomplete_event_size=limits.max_header_bytes,
        timeout_graceful_shutdown=5,
        access_log=False,
        log_config=None,
        log_level="warning",
        server_header=False,
        ws="none",
    )
    asyncio.run(_served(_Server(config), listening, limits.drain_timeout_s, drain))


async def _served(
    server: "_Server",
    listening: socket.socket,
    timeout_s: float,
    drain: Callable[[], Any],
) -> None:
    ending: list[asyncio.Task[None]] = []

    def end() -> None:
        if ending:
            server.should_exit = server.force_exit = True
            return
        ending.append(asyncio.ensure_future(_end(server, timeout_s, drain)))

    loop = asyncio.get_running_loop()
    for one in SIGNALS:
        loop.add_signal_handler(one, end)
    await server.serve(sockets=[listening])


async def _end(server: "_Server", timeout_s: float, drain: Callable[[], Any]) -> None:
    """Wait for the answers that run, but not for ever, and end the server."""
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(drain(), timeout_s)
    server.should_exit = True


class _Server(uvicorn.Server):
    """A server that leaves signals to its caller: its own would not wait."""

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        """Take no signals."""
        yield


def timed(limit_s: float) -> type[H11Protocol]:
    """Return connections on which the head of a request has to come in time."""

    class TimedProtocol(H11Protocol):
        late: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
            super().connection_made(transport)
            self._watch()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self._watch()

        def connection_lost(self, exc: Exception | None) -> None:
            super().connection_lost(exc)
            if self.late:
                self.late.cancel()

        def _watch(self) -> None:
            """Wait for a head that has begun, and no longer for one that is there."""
            cycle: Any = self.cycle  # None before the first request
            waits = cycle is None or cycle.response_complete
            if waits and self.late is None:
                self.late = self.loop.call_later(limit_s, self.transport.close)
            elif not waits and self.late:
                self.late.cancel()
                self.late = None

    return TimedProtocol
