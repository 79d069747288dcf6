"""A call of `create_app`: the server is served, and the real client talks to it."""

import contextlib
import functools
import json
import re
import socket
import time
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, cast

import httpx

from tiny_llm_course.catalogue import say
from tiny_llm_course.grading.judgement.call import Call
from tiny_llm_course.grading.scenarios.hooked import NotedGate, Tally
from tiny_llm_course.grading.scenarios.hosting import Host, host
from tiny_llm_course.grading.scenarios.quiet import own_errors
from tiny_llm_course.grading.scenarios.scripted_engine import ScriptedEngine
from tiny_llm_course.solution import Solution

CREATE_APP = "server.create_app"
ANSWER_S = 4.0
"""How long the client waits. The slowest right answer takes a tenth of it."""

HELLO = [{"role": "user", "content": "Hi"}]
HI = 'client.chat.completions.create(model="tiny", messages=[hi])'
STREAM = 'client.chat.completions.create(model="tiny", messages=[hi], stream=True)'
COMPLETE = 'client.completions.create(model="tiny", prompt="Hi")'

SLOW = {"text": "x" * 90, "step_s": 0.005}
"""An engine that would be busy for a while."""

WRONG_BODIES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "another model": (
        {"model": "gpt"},
        {"error": "NotFoundError", "code": "model_not_found", "param": "model"},
    ),
    "several answers": (
        {"n": 2},
        {"error": "BadRequestError", "code": "unsupported_parameter", "param": "n"},
    ),
    "no messages": (
        {"messages": []},
        {"error": "BadRequestError", "code": "invalid_value", "param": "messages"},
    ),
    "too hot": (
        {"temperature": 7},
        {"error": "BadRequestError", "code": "invalid_value", "param": "temperature"},
    ),
}
"""What a chat asks for, and what the client raises."""

_SAMPLE = re.compile(r"[a-z_:]+(\{[^}]*\})? [-+.\deInf]+")


class Drive(Protocol):
    """What a client does with a server."""

    def __call__(self, site: "Site") -> Any:  # noqa: ANN401 - what it has found out
        """Talk to a server, and return what came back."""


@dataclass(frozen=True)
class Site:
    """A server that runs, and who talks to it.

    Attributes:
        engine: Behind the server.
        app: The server.
        host: What serves it.
        gate: Who it has asked, if it was given a gate.
        tally: Whom it has told, likewise.
    """

    engine: ScriptedEngine
    app: Any
    host: Host
    gate: NotedGate
    tally: Tally

    @property
    def url(self) -> str:
        """Where it is."""
        return self.host.url

    def client(self) -> Any:  # noqa: ANN401 - openai's
        """Return the real client, which tries everything once."""
        return _client(self.url)

    def chat(self, **more: Any) -> Any:  # noqa: ANN401 - openai's
        """Ask for an answer to a chat."""
        asked = {"model": "tiny", "messages": HELLO, **more}
        answer = self.client().chat.completions.create(**asked)
        return list(answer) if asked.get("stream") else answer

    def complete(self, **more: Any) -> Any:  # noqa: ANN401 - openai's
        """Ask how a text goes on."""
        answer = self.client().completions.create(**_completion(more))
        return list(answer) if more.get("stream") else answer

    def streamed(self) -> Any:  # noqa: ANN401 - openai's
        """Ask how a text goes on. Returns what hands out the chunks as they come."""
        return self.client().completions.create(**_completion({"stream": True}))

    def post(self, **more: Any) -> httpx.Response:  # noqa: ANN401
        """Ask how a text goes on, without the real client."""
        return self.http("POST", "/v1/completions", json=_completion(more))

    def refused(self, ask: Callable[[], Any]) -> dict[str, Any]:
        """Return what the client learns of an error, or nothing if there is none."""
        import openai

        try:
            ask()
        except openai.APIError as error:
            known = {name: getattr(error, name) for name in ("code", "param")}
            return {"error": type(error).__name__, **known}
        return {}

    def http(self, method: str, path: str, **more: Any) -> httpx.Response:  # noqa: ANN401
        """Send a request of any kind."""
        return _web().request(method, self.url + path, **more)

    def waits_until(self, is_so: Callable[[], bool], limit_s: float = 1.0) -> bool:
        """Tell whether something is so within a time."""
        until = time.monotonic() + limit_s
        while not is_so() and time.monotonic() < until:
            time.sleep(0.002)
        return is_so()

    def half_sent(self) -> str:
        """Return what comes back where half of a body is sent."""
        head = "POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n"
        with self._connected() as connection:
            connection.sendall(head.encode() + b'{"model": ')
            return connection.recv(4096).decode()

    @contextlib.contextmanager
    def leaving(self, **more: Any) -> Generator[socket.socket]:  # noqa: ANN401
        """Ask how a text goes on, and hang up at the end of the block."""
        content = json.dumps(_completion(more)).encode()
        length = f"Content-Length: {len(content)}"
        head = f"POST /v1/completions HTTP/1.1\r\nHost: x\r\n{length}\r\n\r\n"
        with self._connected() as connection:
            connection.sendall(head.encode() + content)
            yield connection

    def _connected(self) -> socket.socket:
        port = int(self.url.rpartition(":")[2])
        return socket.create_connection(("127.0.0.1", port), timeout=ANSWER_S)


def _completion(more: Mapping[str, Any]) -> dict[str, Any]:
    """Return the body of a completion."""
    return {"model": "tiny", "prompt": "Hi", **more}


@dataclass(frozen=True)
class Served(Call):
    """A call of `create_app`, and what a client then does.

    Attributes:
        drive: What it does.
        shown: The same, as a learner reads it.
        engine: Settings of the `ScriptedEngine`.
        limits: Settings of `Limits`.
        places: How many places its gate has. 0: it gets no gate, and no counters.
        is_raised: Whether an error that the server raises is the result.
    """

    drive: Drive = field(kw_only=True)
    shown: str = ""
    engine: Mapping[str, Any] = field(default_factory=dict[str, Any])
    limits: Mapping[str, Any] = field(default_factory=dict[str, Any])
    places: int = 0
    is_raised: bool = True

    def run(self, solution: Solution) -> Any:  # noqa: ANN401 - what a client found out
        """Serve what `solution` builds."""
        engine = ScriptedEngine(solution, **self.engine)
        limits = solution.get("limits.Limits")(**self.limits)
        gate, tally = NotedGate(solution, self.places), Tally()
        hooks = {"admission": gate, "metrics": tally} if self.places else {}
        app = solution.get(CREATE_APP)(engine, limits, **hooks)
        found: Any = None
        with own_errors(), host().serving(app):
            site = Site(engine, app, host(), gate, tally)
            try:
                found = self.drive(site)
            except Exception as error:  # noqa: BLE001 - told, or the server's is raised
                if not site.host.errors:
                    found = _told(error)
            finally:
                engine.gate.set()
            errors = site.host.errors
        if errors and self.is_raised:
            raise errors[0]
        return found

    def __str__(self) -> str:
        """Write the call, and what the client does then."""
        named = ", ".join(f"{name}={value!r}" for name, value in self.limits.items())
        hooks = ", admission=gate, metrics=counters" if self.places else ""
        return f"create_app(engine, Limits({named}){hooks})\n{self.shown}"


def served(drive: Drive, shown: str, **settings: Any) -> Served:  # noqa: ANN401
    """Return a call of `create_app`, and what a client then does.

    Args:
        drive: What it does.
        shown: The same, as a learner reads it.
        **settings: Of the `Served`.
    """
    return Served(CREATE_APP, (), drive=drive, shown=shown, **settings)


@functools.cache
def _web() -> httpx.Client:
    """Return a client that knows of no proxies. To make one takes 20 ms."""
    return httpx.Client(trust_env=False, timeout=ANSWER_S)


@functools.cache
def _client(url: str) -> Any:  # noqa: ANN401 - openai's
    import openai  # takes a second

    return openai.OpenAI(
        base_url=f"{url}/v1",
        api_key="-",
        max_retries=0,
        http_client=cast("Any", _web()),
    )


def asked_wrongly(more: Mapping[str, object]) -> str:
    """Write a chat that is refused."""
    named = "".join(f", {name}={value!r}" for name, value in more.items())
    return f"client.chat.completions.create(...{named})"


def is_sample(line: str) -> bool:
    """Tell whether Prometheus can read a line: a name, perhaps labels, a number."""
    return _SAMPLE.fullmatch(line) is not None


def _told(error: Exception) -> str:
    """Return what became of a client, in the words that every run has."""
    import openai

    if isinstance(error, openai.APITimeoutError | httpx.TimeoutException):
        return say("week_3_day_6.seen.no_answer")
    if isinstance(error, openai.APIStatusError):
        return say("week_3_day_6.seen.status", status=error.status_code)
    if isinstance(error, openai.APIError | httpx.HTTPError):
        return say("week_3_day_6.seen.broken_off")
    if isinstance(error, AttributeError | LookupError | TypeError | ValueError):
        return say("week_3_day_6.seen.other_shape", kind=type(error).__name__)
    raise error
