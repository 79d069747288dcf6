"""What is asked of a server, and the figure that comes of it."""

import asyncio
import contextlib
import json
import random
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from http.client import HTTPConnection
from statistics import median, quantiles
from urllib.parse import urlsplit

from tiny_llm_lab.serving.load import (
    TIMEOUT_S,
    Ask,
    Stream,
    client_of,
    has_text,
    stream,
    together,
    tokens_per_s,
)
from tiny_llm_lab.serving.servers import SLOTS, Server

PROMPT, ANSWER = 32, 64
"""Tokens of the streams that run together, and of the one that runs alone."""

PREFIX, TAIL = 512, 16
"""Tokens that two prompts share, and that follow in each."""

LONG_PROMPT = 1024
"""Tokens of the prompt that comes in while others run."""

FEW = 4
"""Tokens of each stream that have come before the long prompt does."""

JSON = {"Content-Type": "application/json"}

LOWEST, HIGHEST = 100, 1900
"""The ids of prompts: none of them has a meaning, and all models have them."""


@dataclass(frozen=True)
class Asker:
    """Makes what a server is asked, other ids each time.

    Attributes:
        server: The server.
        end_tokens: Those that would end an answer.
        words: Texts of one token each, for a server that takes no ids.
    """

    server: Server
    end_tokens: Collection[int]
    words: Sequence[str]

    def ask(self, ids: Sequence[int], num_tokens: int) -> Ask:
        """Ask for so many tokens after a prompt."""
        prompt = (
            list(ids)
            if self.server.takes_ids
            else "".join(self.words[one % len(self.words)] for one in ids)
        )
        return Ask(prompt, num_tokens, self.end_tokens, self.server.model)


def drawn(num_tokens: int, draw: random.Random) -> list[int]:
    """Draw the ids of a prompt."""
    return [draw.randint(LOWEST, HIGHEST) for _ in range(num_tokens)]


def streams(
    asker: Asker,
    num_streams: int,
    draw: random.Random,
    lengths: tuple[int, int] = (PROMPT, ANSWER),
) -> float:
    """Return the tokens per second of some streams together.

    Args:
        asker: Whom to ask.
        num_streams: How many.
        draw: Draws the prompts.
        lengths: Tokens of each prompt, and of each answer.
    """
    prompt, answer = lengths
    asks = [asker.ask(drawn(prompt, draw), answer) for _ in range(num_streams)]
    return tokens_per_s(asyncio.run(together(asker.server.url, asks)))


def shared_prefix(asker: Asker, draw: random.Random) -> tuple[float, float]:
    """Return the seconds to the first token of two prompts that begin alike."""
    prefix = drawn(PREFIX, draw)
    asks = [asker.ask(prefix + drawn(TAIL, draw), 2) for _ in range(2)]
    first, second = (
        asyncio.run(together(asker.server.url, [ask]))[0].first_s for ask in asks
    )
    return first, second


def pause(asker: Asker, draw: random.Random) -> tuple[float, float]:
    """Return the gaps of running streams: while a long prompt comes in, and usually.

    Of those while it comes in, the one that 99 % do not exceed; of the others, the
    middle one.
    """
    return asyncio.run(_pause(asker, draw))


async def _pause(asker: Asker, draw: random.Random) -> tuple[float, float]:
    answers = [Stream() for _ in range(SLOTS - 1)]
    asks = [asker.ask(drawn(PROMPT, draw), 2 * ANSWER) for _ in answers]
    late = asker.ask(drawn(LONG_PROMPT, draw), 2)
    async with client_of(asker.server.url) as client, asyncio.TaskGroup() as group:
        for ask, answer in zip(asks, answers, strict=True):
            group.create_task(stream(client, ask, answer))
        while any(len(answer.arrived_s) < FEW for answer in answers):
            await asyncio.sleep(0.01)
        last = await stream(client, late, Stream())
    until_s = last.arrived_s[0]
    during = [gap for one in answers for gap in one.gaps_s(last.asked_s, until_s)]
    usual = [gap for one in answers for gap in one.gaps_s(until_s)]
    return quantiles(during, n=100, method="inclusive")[98], median(usual)


def first_token_s(asker: Asker, ids: Sequence[int]) -> float:
    """Return the seconds to the first token after a short prompt.

    On a connection that is there already, by the client of the standard library: httpx
    takes longer to send a request than the server to answer.
    """
    body = json.dumps(asker.ask(ids, 2).body)
    address = urlsplit(asker.server.url).netloc
    with contextlib.closing(HTTPConnection(address, timeout=TIMEOUT_S)) as connection:
        connection.request("GET", "/health")
        connection.getresponse().read()
        began_s = time.perf_counter()
        connection.request("POST", "/v1/completions", body, JSON)
        for line in connection.getresponse():
            if has_text(line.decode().strip()):
                return time.perf_counter() - began_s
    raise ValueError(f"{address}: no token came")
