"""What judges a server under load can tell that it has lost something."""

import asyncio
import random
from collections.abc import Callable

import httpx
import pytest

from tiny_llm_lab.serving import survival
from tiny_llm_lab.serving.bodies import assert_is_readable, wrong_about
from tiny_llm_lab.serving.survival import growth, is_balanced, one_client

COUNTED = {"accepted": 9, "finished": 4, "aborted": 3, "failed": 2}
REQUEST = httpx.Request("POST", "http://here/v1/completions")


@pytest.mark.parametrize(
    ("found", "balances"),
    [
        ({}, True),
        ({"accepted": 10}, False),
        ({"failed": 3}, False),
        ({"accepted": 10, "open": 1}, False),
        ({"open": 1}, False),
        ({"pages": 1}, False),
    ],
    ids=str,
)
def test_counters_balance_when_nothing_is_left(
    found: dict[str, int], balances: bool
) -> None:
    assert is_balanced({**COUNTED, "open": 0, "pages": 0, **found}) is balances


def test_memory_grows_by_what_comes_in_the_second_half() -> None:
    """What a server takes to warm up does not count."""
    memory = [*range(20), *[100] * 10, *[103] * 10]

    assert growth(memory) == pytest.approx(0.03)


def outcome(answer: Callable[[httpx.Request], httpx.Response]) -> str:
    """Return what comes of a client that stays."""

    async def ask() -> str:
        async with httpx.AsyncClient(
            transport=httpx.MockTransport(answer), base_url="http://here"
        ) as client:
            draw = random.Random(0)  # noqa: S311 - no secret
            return await one_client(client, draw, stays=1.0)

    return asyncio.run(ask())


DONE = 'data: {"choices": []}\n\ndata: [DONE]\n\n'


@pytest.mark.parametrize(
    ("status", "said", "streams", "result"),
    [
        (200, DONE, True, "200"),
        (200, DONE.replace("data: [DONE]\n\n", ""), True, "lost"),
        (200, 'data: {"error": {}}\n\ndata: [DONE]\n\n', True, "lost"),
        (200, '{"choices": []}', False, "200"),
        (200, '{"error": {}}', False, "lost"),
        (429, '{"error": {}}', True, "429"),
    ],
)
def test_a_client_knows_whether_its_answer_is_whole(
    monkeypatch: pytest.MonkeyPatch, status: int, said: str, streams: bool, result: str
) -> None:
    body = ("/v1/completions", {"stream": streams})
    monkeypatch.setattr(survival, "body_of", lambda _: body)

    assert outcome(lambda _: httpx.Response(status, text=said)) == result


def test_a_client_knows_that_its_connection_broke() -> None:
    def breaks(request: httpx.Request) -> httpx.Response:
        raise httpx.ReadError("broken", request=request)

    assert outcome(breaks) == "lost"


@pytest.mark.parametrize(
    ("said", "tells"),
    [
        ("the engine failed: OSError: no such thing: 'weights.bin'", False),
        ("Traceback (most recent call last)", True),
        ("no such thing: server.py", True),
        ("no such thing: /home/me/weights.bin", True),
    ],
)
def test_what_is_told_of_a_machine_is_found(said: str, tells: bool) -> None:
    assert bool(wrong_about(said)) is tells


def test_an_answer_that_is_an_error_is_not_readable() -> None:
    """The client raises nothing for a status of 200."""
    answer = httpx.Response(200, text='{"error": {}}', request=REQUEST)

    with pytest.raises(AssertionError):
        assert_is_readable(answer)
