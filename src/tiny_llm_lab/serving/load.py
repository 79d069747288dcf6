"""Clients that ask a server for a completion, and note when its tokens come."""

import asyncio
import itertools
import json
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx

TIMEOUT_S = 300.0


@dataclass
class Stream:
    """A streamed answer.

    Attributes:
        asked_s: When it was asked for, on the clock of `time.perf_counter`.
        arrived_s: When each token came.
    """

    asked_s: float = 0.0
    arrived_s: list[float] = field(default_factory=list[float])

    @property
    def first_s(self) -> float:
        """How long the first token took."""
        return self.arrived_s[0] - self.asked_s

    def gaps_s(
        self, since_s: float = 0.0, until_s: float = float("inf")
    ) -> list[float]:
        """Return the time between neighbouring tokens, of those that came between."""
        return [
            later - earlier
            for earlier, later in itertools.pairwise(self.arrived_s)
            if since_s <= later and earlier <= until_s
        ]


@dataclass(frozen=True)
class Ask:
    """What a client asks for.

    Attributes:
        prompt: Token ids, or a text for a server that takes no ids.
        num_tokens: How many tokens to generate.
        banned: Tokens that must not come, since they would end the answer.
        model: The name of the model.
    """

    prompt: Sequence[int] | str
    num_tokens: int
    banned: Collection[int]
    model: str

    @property
    def body(self) -> dict[str, Any]:
        """What is sent."""
        prompt = self.prompt if isinstance(self.prompt, str) else list(self.prompt)
        return {
            "model": self.model,
            "prompt": prompt,
            "max_tokens": self.num_tokens,
            "temperature": 0.0,
            "logit_bias": {str(token): -100 for token in self.banned},
            "stream": True,
        }


async def stream(client: httpx.AsyncClient, ask: Ask, answer: Stream) -> Stream:
    """Ask for a completion, and note in `answer` when each token comes.

    Raises:
        ValueError: The server refuses, or sends too few tokens.
    """
    answer.asked_s = time.perf_counter()
    async with client.stream("POST", "/v1/completions", json=ask.body) as response:
        if response.status_code != 200:
            told = (await response.aread()).decode()
            raise ValueError(f"{response.url}: {response.status_code} {told[:200]}")
        async for line in response.aiter_lines():
            if has_text(line):
                answer.arrived_s.append(time.perf_counter())
    if len(answer.arrived_s) < ask.num_tokens - 1:
        got = len(answer.arrived_s)
        raise ValueError(f"{client.base_url}: {got} tokens of {ask.num_tokens} came")
    return answer


def has_text(line: str) -> bool:
    """Tell whether a line of an answer brings a token: others tell why it has ended.

    Raises:
        ValueError: The server says that it has failed.
    """
    if not line.startswith("data: {"):
        return False
    event = json.loads(line.removeprefix("data: "))
    if "error" in event:
        raise ValueError(f"the server says: {event['error']}")
    return any(choice.get("text") for choice in event.get("choices", ()))


async def together(url: str, asks: Sequence[Ask]) -> list[Stream]:
    """Ask for several completions at once."""
    async with client_of(url) as client:
        return await asyncio.gather(*(stream(client, ask, Stream()) for ask in asks))


def client_of(url: str) -> httpx.AsyncClient:
    """Return a client that may hold many connections, and ask no proxy."""
    limits = httpx.Limits(max_connections=None)
    return httpx.AsyncClient(
        base_url=url, timeout=TIMEOUT_S, limits=limits, trust_env=False
    )


def tokens_per_s(streams: Sequence[Stream]) -> float:
    """Return the speed of streams together, from the first to ask to the last token."""
    num_tokens = sum(len(one.arrived_s) for one in streams)
    began_s = min(one.asked_s for one in streams)
    return num_tokens / (max(one.arrived_s[-1] for one in streams) - began_s)
