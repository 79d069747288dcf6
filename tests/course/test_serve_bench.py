"""The arithmetic of `pdm run serve-bench`, and a client that counts real chunks."""

import asyncio
import json
from collections.abc import AsyncGenerator
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from tiny_llm_lab.serving.load import Ask, Stream, stream, tokens_per_s
from tiny_llm_lab.serving.model_folder import widened
from tiny_llm_lab.serving.whole_run import Figures, promises

ASK = Ask([5, 6], 3, banned=(0, 2), model="tiny")


def _event(text: str, **more: Any) -> str:  # noqa: ANN401 - of JSON
    return f"data: {json.dumps({'choices': [{'text': text, **more}]})}\n\n"


def _server(events: list[str], status: int = 200) -> httpx.AsyncClient:
    """Return a client of a server that answers with these events."""

    async def answer(request: Request) -> Response:
        assert (await request.json())["max_tokens"] == 3
        if status != 200:
            return JSONResponse({"error": "no"}, status)

        async def body() -> AsyncGenerator[str]:
            for event in events:
                yield event

        return StreamingResponse(body())

    app = Starlette(routes=[Route("/v1/completions", answer, methods=["POST"])])
    transport = httpx.ASGITransport(app)
    return httpx.AsyncClient(transport=transport, base_url="http://here")


def _asked(events: list[str], status: int = 200) -> Stream:
    async def ask() -> Stream:
        async with _server(events, status) as client:
            return await stream(client, ASK, Stream())

    return asyncio.run(ask())


def test_a_chunk_with_text_is_a_token() -> None:
    events = [_event("a"), _event("b"), _event("c"), _event("", finish_reason="length")]

    answer = _asked([*events, "data: [DONE]\n\n"])

    assert len(answer.arrived_s) == 3


def test_a_server_that_sends_too_few_is_told() -> None:
    with pytest.raises(ValueError, match="1 tokens of 3 came"):
        _asked([_event("a")])


def test_a_server_that_refuses_is_told() -> None:
    with pytest.raises(ValueError, match="400"):
        _asked([], status=400)


def test_a_server_that_fails_in_the_middle_is_told() -> None:
    with pytest.raises(ValueError, match="broken"):
        _asked([_event("a"), 'data: {"error": "broken"}\n\n'])


def test_gaps_are_those_that_touch_a_time() -> None:
    answer = Stream(0.0, [1.0, 2.0, 4.0, 7.0, 11.0])

    assert answer.first_s == 1.0
    assert answer.gaps_s() == [1.0, 2.0, 3.0, 4.0]
    assert answer.gaps_s(3.0, 5.0) == [2.0, 3.0]


def test_streams_together_are_timed_from_the_first_to_the_last() -> None:
    streams = [Stream(1.0, [2.0, 3.0]), Stream(2.0, [3.0, 4.0, 6.0])]

    assert tokens_per_s(streams) == 1.0


def figures_of(**others: float) -> Figures:
    """Return what one turn measures."""
    figures = Figures()
    for what, value in {**MEASURED, **others}.items():
        figures.add(what, "ours", value)
    figures.add("8 streams", "mlx_lm", 5.0)
    return figures


MEASURED = {
    "8 streams": 100.0,
    "1 stream": 50.0,
    "first of a prefix": 0.6,
    "second of it": 0.1,
    "gap, long prompt": 0.08,
    "gap, usual": 0.02,
    "HTTP adds": 0.003,
    "pages": 1.1,
}
NUMBERS = [
    ("8 streams by our 1", 2.0, False),
    ("8 streams by those of mlx_lm.server", 20.0, True),
    ("8 streams by those of llama.cpp's server", None, None),
    ("first token after a prefix, by the second one's", 6.0, True),
    ("gap while a long prompt comes in, by the usual one", 4.0, False),
    ("ms that HTTP adds to the first token", 3.0, True),
    ("memory of pages by need", 1.1, True),
]


@pytest.mark.parametrize(("what", "reached", "holds"), NUMBERS)
def test_a_promise_is_kept_broken_or_not_measured(
    what: str, reached: float | None, holds: bool | None
) -> None:
    found = {one.what: one for one in promises(figures_of())}

    assert found[what].reached == (reached and pytest.approx(reached))
    assert found[what].holds is holds


def test_there_is_no_other_promise() -> None:
    assert {one.what for one in promises(Figures())} == {what for what, *_ in NUMBERS}


@pytest.mark.parametrize(("pages", "holds"), [(1.15, True), (1.16, False)])
def test_the_bound_itself_is_kept(pages: float, holds: bool) -> None:
    found = {one.what: one.holds for one in promises(figures_of(pages=pages))}

    assert found["memory of pages by need"] is holds


def test_every_id_has_a_token_of_its_own() -> None:
    own = {"model": {"vocab": {"a": 0, "b": 2}}, "added_tokens": [{"id": 1}]}

    vocab = widened(own, 5)["model"]["vocab"]

    assert vocab == {"a": 0, "b": 2, "t3t": 3, "t4t": 4}
