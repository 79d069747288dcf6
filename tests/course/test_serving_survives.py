"""`pdm run serve` survives what happens to servers, and its counters balance then.

Servers in processes of their own, real sockets, the embedded model. Sizes are small
here: `python -m tiny_llm_lab.serving.survival` runs the same in full.
"""

import asyncio
import contextlib
import re
import shutil
import signal
import socket
import statistics
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest
import uvicorn

from tiny_llm_course.errors import CourseError
from tiny_llm_course.places import REFERENCE, here
from tiny_llm_course.serving import starting
from tiny_llm_course.serving.running import address_of, bound
from tiny_llm_course.serving.watched import WatchedEngine
from tiny_llm_lab.serving.bodies import wrong_about
from tiny_llm_lab.serving.survival import (
    Running,
    counts,
    is_balanced,
    leaving,
    serving,
    settled,
    try_bodies,
)

POISON = 1234
"""A token on which the frail solution's step raises."""

TOKENIZE = b"POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Length: "

RAISES = f"""
    if any({POISON} in piece for piece in pieces):
        raise OSError(2, "no such thing", "/somebody/private/weights.bin")
"""


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    with serving() as running:
        yield running
        assert is_balanced(found := settled(running.url)), found


@pytest.fixture(scope="module")
def frail(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server with few places and little patience, of a solution with a mistake."""
    folder = tmp_path_factory.mktemp("solutions") / "frail"
    shutil.copytree(REFERENCE, folder)
    step, limits = folder / "qwen2_week3.py", folder / "limits.py"
    code = step.read_text()
    place = code.index('"""\n', code.index("def run_pieces(")) + 4
    place = code.index('"""\n', place) + 4 if code[place - 8] == ":" else place
    step.write_text(code[:place] + RAISES.lstrip("\n") + code[place:])
    impatient = re.sub(
        r"((head|body)_timeout_s: float =) 10.0", r"\1 0.5", limits.read_text()
    )
    limits.write_text(impatient.replace("= 16 * 2**10", "= 4000"))
    few = ["--max-num-seqs", "2", "--max-queue", "2", "--num-pages", "80"]
    with serving("--solution", f"{folder}", *few) as running:
        yield running
        assert is_balanced(found := settled(running.url)), found


@pytest.fixture
def frail_client(frail: Running) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(
        base_url=f"{frail.url}/v1", api_key="-", max_retries=0
    ) as client:
        yield client


def test_clients_that_leave_at_any_moment_leave_nothing_behind(server: Running) -> None:
    results = asyncio.run(leaving(server.url, num_clients=40))

    found = settled(server.url)
    assert results["left"] > 10
    assert results["200"] > 1
    assert not results["lost"]
    assert is_balanced(found), found


def test_no_body_is_a_mistake_of_the_server(server: Running) -> None:
    """The real client reads each answer, in which nothing of the machine is told."""
    statuses = try_bodies(server.url, num_bodies=100)

    assert statuses.keys() <= {200, 400, 404, 413}
    assert statuses[400] > 20
    assert statuses[200] > 5


@pytest.mark.parametrize(
    ("sent", "told"),
    [
        (b"GET /health HTT", b""),
        (
            TOKENIZE + b"99\r\n\r\n{",
            b'"code":"timeout"',
        ),
    ],
    ids=["a head", "a body"],
)
def test_half_of_a_request_is_given_up(
    frail: Running, sent: bytes, told: bytes
) -> None:
    """Though a byte of it comes now and then."""
    began_s = time.monotonic()

    said = dribble(frail, sent)

    assert 0.3 < time.monotonic() - began_s < 3
    assert told in said
    assert bool(told) == (b" 408 " in said)


def dribble(server: Running, sent: bytes) -> bytes:
    """Send something, then a space now and then. Return what comes until the end."""
    said, until_s = b"", time.monotonic() + 5
    with socket.create_connection(address(server)) as client:
        client.settimeout(0.1)
        client.sendall(sent)
        while time.monotonic() < until_s:
            try:
                part = client.recv(4096)
                if not part:
                    break
                said += part
            except TimeoutError:
                with contextlib.suppress(OSError):
                    client.sendall(b" ")
            except OSError:
                break
    return said


def address(server: Running) -> tuple[str, int]:
    url = httpx.URL(server.url)
    return url.host, url.port or 80


def test_head_that_is_too_long_is_refused(frail: Running) -> None:
    """By the limit of the solution: uvicorn's own is four times as much."""
    with socket.create_connection(address(frail), timeout=5) as client:
        client.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\nX: " + b"x" * 5000)
        said = client.recv(4096)

    assert said.startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize("path", ["/", "/events", "/health", "/v1/models"])
def test_page_of_a_stranger_is_not_answered(server: Running, path: str) -> None:
    """Its name may lead here, so a browser would let it read and ask."""
    names = ["localhost", "LOCALHOST:80", "127.0.0.1:8000", "[::1]:8000", "127.1.2.3"]
    strange = ["evil.example", "evil.example:8000", "192.168.1.2", "[", "localhost.it"]

    statuses = {name: status(server, path, name) for name in (*names, *strange)}

    assert statuses == {**dict.fromkeys(names, 200), **dict.fromkeys(strange, 403)}


def status(server: Running, path: str, host: str) -> int:
    """Ask under a name, and return the status without what follows it."""
    with httpx.stream(
        "GET", server.url + path, headers={"Host": host}, trust_env=False
    ) as said:
        return said.status_code


def test_body_is_not_read_to_its_end_when_it_is_too_long(server: Running) -> None:
    """It says that it has a gigabyte; the answer is there after two megabytes."""
    head = TOKENIZE + b"1073741824\r\n\r\n"
    with socket.create_connection(address(server), timeout=5) as client:
        client.sendall(head + b"x" * (2 * 2**20))
        said = client.recv(4096)

    assert b" 413 " in said


class Streams:
    """Requests that are streamed. For 250 tokens they run for a second or so."""

    def __init__(self, url: str, number: int, *, max_tokens: int = 250) -> None:
        self.ends: list[str] = []
        self._max_tokens = max_tokens
        self.has_begun = threading.Event()
        self._threads = [
            threading.Thread(target=self._read, args=(url,)) for _ in range(number)
        ]

    def __enter__(self) -> "Streams":
        for one in self._threads:
            one.start()
        return self

    def __exit__(self, *_: object) -> None:
        for one in self._threads:
            one.join()

    def _read(self, url: str) -> None:
        body = {"model": "tiny", "prompt": "Once", "max_tokens": self._max_tokens}
        body |= {"stream": True, "ignore_eos": True}
        with httpx.stream(
            "POST", f"{url}/v1/completions", json=body, timeout=60, trust_env=False
        ) as said:
            lines = said.iter_lines()
            next(lines)
            self.has_begun.set()
            self.ends.append([line for line in lines if line][-1])


def until(is_so: Callable[[], bool]) -> None:
    """Wait for something that comes soon."""
    until_s = time.monotonic() + 10
    while not is_so():
        assert time.monotonic() < until_s
        time.sleep(0.01)


def test_full_queue_refuses_at_once_while_others_go_on(
    frail: Running, frail_client: openai.OpenAI
) -> None:
    ask: dict[str, Any] = {"model": "tiny", "prompt": "Hi", "max_tokens": 1}
    refused: list[tuple[openai.RateLimitError, float]] = []
    frail_client.completions.create(**ask)  # for the first, openai imports a lot

    while len(refused) < 7:  # on a busy machine a place may come free before
        with Streams(frail.url, 4, max_tokens=480) as streams:
            until(lambda: counts(frail.url)["open"] == 4)
            num_before = len(refused)
            while len(refused) < 7:
                began_s = time.monotonic()
                try:
                    frail_client.completions.create(**ask)
                except openai.RateLimitError as error:
                    refused.append((error, time.monotonic() - began_s))
                else:
                    assert len(refused) > num_before, "let in at once"
                    break
        assert streams.ends == ["data: [DONE]"] * 4

    assert {error.code for error, _ in refused} == {"queue_full"}
    assert all(int(error.response.headers["Retry-After"]) > 0 for error, _ in refused)
    assert statistics.median(took_s for _, took_s in refused) < 0.05
    frail_client.completions.create(**ask)


def test_prompt_that_never_fits_is_told_both_numbers(
    frail_client: openai.OpenAI,
) -> None:
    with pytest.raises(openai.BadRequestError, match=r"511 tokens, got 600; .* 512"):
        frail_client.completions.create(model="tiny", prompt=[5] * 600)


@pytest.mark.parametrize("stream", [False, True])
def test_step_that_raises_fails_one_request(
    frail: Running, frail_client: openai.OpenAI, stream: bool
) -> None:
    """With its reason, but for the folder in it. The line is in the log."""
    with Streams(frail.url, 1) as streams:
        assert streams.has_begun.wait(10)
        with pytest.raises(openai.InternalServerError) as raised:
            frail_client.completions.create(
                model="tiny", prompt=[5, POISON], stream=stream
            )

    assert streams.ends == ["data: [DONE]"]
    assert raised.value.code == "engine_failed"
    assert (
        "FileNotFoundError: [Errno 2] no such thing: 'weights.bin'"
        in raised.value.message
    )
    log = frail.log.read_text()
    assert 'raise OSError(2, "no such thing"' in log
    assert "frail/qwen2_week3.py" in log


def test_killed_server_serves_again_at_the_same_port() -> None:
    ask: dict[str, Any] = {"model": "tiny", "prompt": "Hi", "max_tokens": 1}
    with serving() as first:
        port = address(first)[1]
        body = {**ask, "max_tokens": 400, "stream": True, "ignore_eos": True}
        with httpx.stream("POST", f"{first.url}/v1/completions", json=body) as said:
            next(lines := said.iter_lines())
            first.process.send_signal(signal.SIGKILL)
            with pytest.raises(httpx.TransportError):
                list(lines)

    with serving(port=port) as second:
        said = httpx.post(f"{second.url}/v1/completions", json=ask, trust_env=False)

    assert said.status_code == 200


def test_nothing_of_the_machine_is_told(server: Running) -> None:
    paths = ["/nowhere", "/v1/models/gpt", "/page/../../pyproject.toml", "//etc/passwd"]
    with httpx.Client(base_url=server.url, trust_env=False) as client:
        answers = [client.get(path) for path in paths]
        answers += [client.delete("/v1/chat/completions"), client.put("/")]

    assert {one.status_code for one in answers} <= {404, 405}
    assert not [one.text for one in answers if wrong_about(one.text)]


def test_answers_are_not_held_back_by_nagles_algorithm() -> None:
    """The second part of an answer came 40 ms late: asyncio looks at the protocol."""

    async def is_off() -> int:
        came: asyncio.Queue[asyncio.StreamWriter] = asyncio.Queue()
        listening = bound("127.0.0.1", 0)
        served = await asyncio.start_server(
            lambda _, w: came.put_nowait(w), sock=listening
        )
        _, client = await asyncio.open_connection(*listening.getsockname())
        writer = await came.get()
        accepted = writer.get_extra_info("socket")
        found = accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        for one in (client, writer, served):
            one.close()
        return found

    assert asyncio.run(is_off())


def test_client_may_come_as_soon_as_the_address_is_told() -> None:
    """It waits until the model is loaded."""
    with bound("127.0.0.1", 0) as listening:
        address = listening.getsockname()

        with socket.create_connection(address, timeout=1) as client:
            assert client.getpeername() == address


def test_nobody_else_can_take_the_address() -> None:
    with bound("127.0.0.1", 0) as listening:
        port = listening.getsockname()[1]

        with pytest.raises(CourseError, match=f"--port {port}: expected one"):
            bound("127.0.0.1", port)


class Steps(WatchedEngine):
    """An engine that notes for whom it works, and whom it has been told to forget."""

    def __init__(self, engine: object) -> None:
        super().__init__(engine)
        self.worked: Counter[str] = Counter()

    def step(self) -> list[Any]:
        """Note who has got a token."""
        outputs = super().step()
        self.worked.update(one.id for one in outputs)
        return outputs


def test_model_stops_within_one_step_for_who_has_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """And no task of the event loop is left, nor a receiver."""
    monkeypatch.setattr(starting, "WatchedEngine", Steps)
    served = starting.start(starting.Settings())
    ended: dict[str, int] = {}
    steps: Any = served.engine
    counters: Any = served.metrics
    end = counters.ended

    def noted(id: str, reason: str) -> None:  # noqa: A002
        ended[id] = steps.worked[id]
        end(id, reason)

    monkeypatch.setattr(counters, "ended", noted)

    async def tasks_left() -> int:
        config = uvicorn.Config(served.app, log_config=None)
        running = uvicorn.Server(config)
        serving = asyncio.ensure_future(
            running.serve([listening := bound("127.0.0.1", 0)])
        )
        while not running.started:
            await asyncio.sleep(0.01)
        before = len(asyncio.all_tasks())
        await leaving(address_of(listening), 20)
        until_s = time.monotonic() + 5
        while len(asyncio.all_tasks()) > before and time.monotonic() < until_s:
            await asyncio.sleep(0.01)
        left = len(asyncio.all_tasks()) - before
        running.should_exit = True
        await serving
        return left

    assert asyncio.run(tasks_left()) == 0
    assert len(ended) > 10
    assert all(steps.worked[one] - ended[one] <= 1 for one in ended)


def test_server_does_without_what_is_not_written_yet(tmp_path: Path) -> None:
    """Day 6 is served before Day 7 has begun."""
    folder = tmp_path / "early"
    shutil.copytree(REFERENCE, folder)
    for name in ("limits.py", "metrics.py"):
        shutil.copy(here().starter / name, folder / name)

    served = starting.start(starting.Settings(solution=f"{folder}"))

    assert served.admission is served.metrics is None
