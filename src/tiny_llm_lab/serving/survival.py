"""What a server has to survive: clients that leave, wrong bodies, and a long load."""

import asyncio
import contextlib
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from tiny_llm_lab.serving.load import client_of
from tiny_llm_lab.serving.servers import OURS

PATHS = ("/v1/chat/completions", "/v1/completions")
STORY = "Once upon a time a fox lived in a forest. "
SETTLED_S = 10.0
"""How long a server may take to notice that its last client has left."""

LONGEST_S = 3.0
"""How long a client stays at most that leaves."""


@dataclass(frozen=True)
class Running:
    """A server in a process of its own.

    Attributes:
        url: Where it is reached.
        process: The process.
        log: What it has written on stderr so far.
    """

    url: str
    process: subprocess.Popen[bytes]
    log: Path

    @property
    def memory_bytes(self) -> int:
        """How much memory the process has that is not swapped out."""
        told = subprocess.check_output(
            ["ps", "-o", "rss=", "-p", f"{self.process.pid}"],  # noqa: S607
            text=True,
        )
        return int(told) * 1024


@contextlib.contextmanager
def serving(*options: str, port: int = 0) -> Generator[Running]:
    """Start `pdm run serve` with some options, and end it afterwards, if it runs."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
        with log.open("wb") as written:
            process = subprocess.Popen(
                [sys.executable, "-c", OURS, "--port", f"{port}", *options],
                env={**os.environ, **threads},
                stdout=subprocess.PIPE,
                stderr=written,
            )
        assert process.stdout is not None
        try:
            found = re.search(r"http://\S+", process.stdout.readline().decode())
            assert found, log.read_text(errors="replace")
            yield Running(found[0], process, log)
        finally:
            process.kill()
            process.communicate()


def counts(url: str) -> dict[str, int]:
    """Return what a server has counted: its requests, and its pages in use."""
    with httpx.Client(base_url=url, timeout=30, trust_env=False) as client:
        text = client.get("/metrics").text
        with client.stream("GET", "/events") as events:
            told = next(line for line in events.iter_lines() if line)
    number = re.compile(r"^tiny_llm_requests_(\w+?)(?:_total)? (\d+)", re.MULTILINE)
    pages = re.search(r'"pages_in_use": (\d+)', told)
    assert pages
    return {
        **{name: int(n) for name, n in number.findall(text)},
        "pages": int(pages[1]),
    }


def settled(url: str) -> dict[str, int]:
    """Wait until no request is open, and return what a server has counted."""
    until_s = time.monotonic() + SETTLED_S
    found = counts(url)
    while (found["open"] or found["pages"]) and time.monotonic() < until_s:
        time.sleep(0.05)
        found = counts(url)
    return found


def is_balanced(found: dict[str, int]) -> bool:
    """Tell whether each request has ended in one way, and nothing is left of any."""
    ended = sum(found[name] for name in ("finished", "aborted", "failed"))
    return found["accepted"] == ended and not found["open"] and not found["pages"]


def body_of(draw: random.Random) -> tuple[str, dict[str, Any]]:
    """Choose what to ask for: a path and a body, of mixed sizes."""
    path = draw.choice(PATHS)
    text = f"{draw.randint(0, 9)}. {STORY * draw.randint(0, 12)}"
    asked = {"messages": [{"role": "user", "content": text}]}
    own: dict[str, Any] = asked if "chat" in path else {"prompt": text}
    own |= {"model": "tiny", "max_tokens": draw.randint(1, 80)}
    own |= {"stream": draw.random() < 0.5, "ignore_eos": draw.random() < 0.5}
    return path, own


async def one_client(
    client: httpx.AsyncClient, draw: random.Random, stays: float
) -> str:
    """Ask for something, and leave at a random moment, or stay until the answer ends.

    Args:
        client: Its connections.
        draw: Decides what it asks for, and when it leaves.
        stays: How likely it is to stay.

    Returns:
        What came of it: "left", "lost" if the connection broke off or an answer was not
        whole, or the status of the answer.
    """
    path, body = body_of(draw)
    patience_s = None if draw.random() < stays else draw.uniform(0.0, LONGEST_S)
    try:
        async with asyncio.timeout(patience_s):
            response = await client.post(path, json=body)
    except TimeoutError:
        return "left"
    except httpx.TransportError:
        return "lost"
    is_whole = not body["stream"] or response.text.endswith("data: [DONE]\n\n")
    is_whole = is_whole and '"error"' not in response.text
    return f"{response.status_code}" if is_whole or response.is_error else "lost"


async def leaving(url: str, num_clients: int) -> Counter[str]:
    """Let many clients come at once, most of whom leave. Count what came of them."""
    draw = random.Random(0)  # noqa: S311 - the same clients in every run
    async with client_of(url) as client:
        return Counter(
            await asyncio.gather(
                *(
                    one_client(client, random.Random(draw.random()), 0.2)  # noqa: S311
                    for _ in range(num_clients)
                )
            )
        )


def try_bodies(url: str, num_bodies: int) -> Counter[int]:
    """Send bodies that are right and wrong. Count the statuses of the answers.

    Raises:
        AssertionError: An answer is a mistake of the server, or no client can read it.
    """
    from hypothesis import HealthCheck, given, settings
    from hypothesis import strategies as st

    from tiny_llm_lab.serving.bodies import AnyBody, assert_is_readable, bodies

    statuses = Counter[int]()
    plain = settings(
        max_examples=num_bodies,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=[HealthCheck.too_slow],
    )
    with AnyBody(url) as client:

        @plain
        @given(
            st.sampled_from(PATHS).flatmap(
                lambda path: st.tuples(st.just(path), bodies(path))
            )
        )
        def send(sent: tuple[str, bytes]) -> None:
            said = client.said(*sent)
            assert_is_readable(said)
            statuses[said.status_code] += 1

        send()
    return statuses


async def mixed(
    server: Running, lasts_s: float, num_clients: int = 12
) -> tuple[Counter[str], Sequence[int]]:
    """Keep a server busy for some time: most clients stay, some leave.

    Returns:
        What came of all requests, and the memory of the server at each of 40 moments.
    """
    results, memory = Counter[str](), list[int]()
    until_s = time.monotonic() + lasts_s

    async def keep_asking(seed: int) -> None:
        draw = random.Random(seed)  # noqa: S311 - no secret
        while time.monotonic() < until_s:
            results[await one_client(client, draw, 0.9)] += 1

    async def watch() -> None:
        while time.monotonic() < until_s:
            await asyncio.sleep(lasts_s / 40)
            memory.append(server.memory_bytes)

    async with client_of(server.url) as client:
        await asyncio.gather(watch(), *map(keep_asking, range(num_clients)))
    return results, memory


def growth(memory: Sequence[int]) -> float:
    """Return by what part memory has grown in the second half of the time."""
    middle = len(memory) // 2
    around = max(1, len(memory) // 10)
    before = sum(memory[middle : middle + around]) / around
    return sum(memory[-around:]) / around / before - 1


def main() -> None:
    """Run everything in full size, and print what came of it."""
    num_minutes = float(sys.argv[1]) if len(sys.argv) > 1 else 20
    with serving("--max-queue", "400") as server:
        print("300 clients that leave:", dict(asyncio.run(leaving(server.url, 300))))
        print("1,000 bodies:", dict(try_bodies(server.url, 1000)))
        results, memory = asyncio.run(mixed(server, 60 * num_minutes))
        print(f"{num_minutes:g} minutes of mixed load:", dict(results))
        print(f"memory in the second half: {growth(memory):+.1%}")
        print("counted:", found := settled(server.url))
        assert is_balanced(found), "the counters do not balance"


if __name__ == "__main__":
    main()
