"""`pdm run serve`: with the embedded model, the real client, and signals."""

import asyncio
import json
import re
import signal
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import uvicorn
from click.testing import CliRunner
from starlette.responses import PlainTextResponse

from tiny_llm_course.commands.serve import command
from tiny_llm_course.serving.front import FOLDER
from tiny_llm_course.serving.running import timed
from tiny_llm_course.serving.starting import PROMPT_TOKENS
from tiny_llm_lab.serving.survival import Running, serving

KEY = "secret"
STORY = [{"role": "user", "content": "Tell me a story about a fox."}]
EOS = {"ignore_eos": True}


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    """Serve our solution with the embedded model, on a free port."""
    with serving("--api-key", KEY) as running:
        yield running


@pytest.fixture
def client(server: Running) -> Iterator[Any]:
    import openai

    with openai.OpenAI(base_url=f"{server.url}/v1", api_key=KEY, max_retries=0) as made:
        yield made


@pytest.fixture
def web(server: Running) -> Iterator[httpx.Client]:
    """A browser, as far as it matters: whose user has typed the key."""
    with httpx.Client(base_url=server.url, auth=("me", KEY), trust_env=False) as made:
        yield made


def test_streams_a_story(client: Any) -> None:  # noqa: ANN401 - openai's
    """What the new user types, as it stands in the README."""
    chunks = client.chat.completions.create(model="tiny", messages=STORY, stream=True)

    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
    assert len(text.split()) > 20


def test_same_seed_tells_the_same_story(client: Any) -> None:  # noqa: ANN401
    asked = {"model": "tiny", "messages": STORY, "max_tokens": 20}

    texts = [
        client.chat.completions.create(**asked, seed=seed).choices[0].message.content
        for seed in (1, 1, 2)
    ]

    assert texts[0] == texts[1] != texts[2]


def test_stop_text_across_tokens_ends_a_story(client: Any) -> None:  # noqa: ANN401
    """And nothing of it is in the answer. mlx_lm's server goes on."""
    asked = {"model": "tiny", "messages": STORY, "temperature": 0, "max_tokens": 40}
    whole = client.chat.completions.create(**asked).choices[0].message.content
    stop = whole[12:19]

    answer = client.chat.completions.create(**asked, stop=stop).choices[0]

    assert answer.message.content == whole[: whole.index(stop)]
    assert answer.finish_reason == "stop"


def test_penalty_keeps_words_from_coming_again(client: Any) -> None:  # noqa: ANN401
    asked = {"model": "tiny", "prompt": "fox fox fox", "temperature": 0}

    plain, punished = (
        client.completions.create(**asked, max_tokens=60, presence_penalty=penalty)
        for penalty in (0, 2)
    )

    distinct = [len(set(one.choices[0].text.split())) for one in (plain, punished)]
    assert distinct[1] > distinct[0]


def test_log_probabilities_of_a_prompt_are_what_evaluations_read(
    client: Any,  # noqa: ANN401
) -> None:
    """`token_logprobs[n:-1]` is compared with the largest of `top_logprobs`."""
    asked = {"echo": True, "logprobs": 1, "max_tokens": 1, "temperature": 0}

    answer = client.completions.create(model="tiny", prompt="Once upon a time", **asked)

    found = answer.choices[0].logprobs
    likeliest = [max(one.values()) for one in found.top_logprobs[1:]]
    assert found.token_logprobs[0] is None
    assert all(
        own <= top for own, top in zip(found.token_logprobs[1:], likeliest, strict=True)
    )
    assert found.token_logprobs[-1] == likeliest[-1]
    assert "".join(found.tokens) == answer.choices[0].text


def test_prompt_that_cannot_fit_is_told_in_tokens(client: Any) -> None:  # noqa: ANN401
    """mlx_lm's server takes it, and the model reads past its context."""
    import openai

    with pytest.raises(openai.BadRequestError, match=r"1500.*512") as raised:
        client.completions.create(model="tiny", prompt="Once upon a time " * 300)
    assert raised.value.code == "context_length_exceeded"


@pytest.mark.parametrize(
    ("prompt", "place"),
    [
        ([5, 2048], "prompt[1]"),
        ([[5], [5, -1]], "prompt[1][1]"),
        ([[5], []], "prompt[1]"),
    ],
)
def test_id_of_no_token_is_refused_with_its_place(
    client: Any,  # noqa: ANN401
    prompt: list[Any],
    place: str,
) -> None:
    """Beyond its 2048 tokens the embedding has no row, and MLX does not look."""
    import openai

    with pytest.raises(openai.BadRequestError, match=r"got") as raised:
        client.completions.create(model="tiny", prompt=prompt)
    assert raised.value.param == place


def test_second_request_finds_the_beginning_of_the_first(client: Any) -> None:  # noqa: ANN401
    prompt = "Once upon a time a fox lived in a forest. " * 8

    used = [
        client.completions.create(model="tiny", prompt=prompt, max_tokens=1).usage
        for _ in range(2)
    ]

    assert used[1].prompt_tokens_details.cached_tokens > used[0].prompt_tokens // 2


def test_page_has_no_resources_of_others(web: httpx.Client) -> None:
    page = web.get("/")

    files = ["page.js", "page.css"]
    texts = [page.text, *(web.get(f"/{name}").text for name in files)]
    assert not [one for text in texts for one in re.findall(r"https?://\S+", text)]
    assert "default-src 'none'" in page.headers["Content-Security-Policy"]
    assert {*files, "index.html"} == {path.name for path in FOLDER.iterdir()}


def test_any_name_will_do_with_the_key(web: httpx.Client) -> None:
    """As a proxy sends it. A stranger's page does not have the key."""
    assert web.get("/", headers={"Host": "llm.example"}).status_code == 200


@pytest.mark.parametrize("path", ["/", "/events", "/page.js", "/v1/models", "/metrics"])
@pytest.mark.parametrize("auth", [None, ("me", "wrong")])
def test_key_is_asked_for_everywhere(
    server: Running, path: str, auth: tuple[str, str] | None
) -> None:
    status = httpx.get(server.url + path, auth=auth, trust_env=False).status_code

    assert status == 401
    assert httpx.get(f"{server.url}/health", trust_env=False).status_code == 200


def test_events_tell_who_runs_and_which_pages_are_shared(
    web: httpx.Client,
    client: Any,  # noqa: ANN401
) -> None:
    """Two requests have the pages together in which a third has left its prompt."""
    prompt = ["One two three four five six seven eight nine ten. " * 6] * 2
    asked = {"model": "tiny", "prompt": prompt, "max_tokens": 60}
    asking = threading.Thread(
        target=client.completions.create, kwargs={**asked, "extra_body": EOS}
    )

    client.completions.create(model="tiny", prompt=prompt[0], max_tokens=1)
    seen: list[dict[str, Any]] = []
    with web.stream("GET", "/events") as events:
        lines = (line for line in events.iter_lines() if line)
        seen.append(json.loads(next(lines).removeprefix("data: ")))
        asking.start()
        while seen[-1]["running"] or not any(one["running"] for one in seen):
            seen.append(json.loads(next(lines).removeprefix("data: ")))
    asking.join()

    assert seen[0]["running"] == seen[-1]["running"] == []
    assert max(len(one["running"]) for one in seen) == 2
    assert any(one["shared"] for one in seen)
    assert all(one["shared"] == in_two_tables(one["running"]) for one in seen)
    assert max(one["tokens_per_s"] for one in seen) > 0


def in_two_tables(running: list[dict[str, Any]]) -> list[int]:
    """Return the pages that more than one of at most two requests has."""
    tables = [set(one["pages"]) for one in running]
    return sorted(set.intersection(*tables)) if len(tables) == 2 else []


def test_half_a_head_is_given_up() -> None:
    """Somebody who opens connections and says nothing takes no place for long."""

    async def half_sent() -> bytes:
        config = uvicorn.Config(_ok, port=0, http=timed(0.1), log_config=None)
        running = uvicorn.Server(config)
        serving = asyncio.ensure_future(running.serve())
        while not running.started:
            await asyncio.sleep(0.01)
        port = running.servers[0].sockets[0].getsockname()[1]
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        said = await reader.readuntil(b"ok")
        writer.write(b"GET / HTT")
        said += await asyncio.wait_for(reader.read(), 2)
        writer.close()
        running.should_exit = True
        await serving
        return said

    assert asyncio.run(half_sent()).endswith(b"ok")


async def _ok(scope: Any, receive: Any, send: Any) -> None:  # noqa: ANN401 - of ASGI
    await PlainTextResponse("ok")(scope, receive, send)


def test_port_in_use_is_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        ran = CliRunner().invoke(command, ["--port", port])

    assert ran.exit_code == 2
    assert f"--port {port}: expected one that is free" in ran.stderr
    assert ran.stderr.count("\n") == 1


def test_budget_below_one_for_each_is_one_line() -> None:
    options = ["--max-num-seqs", "9", "--max-num-batched-tokens", "8"]
    ran = CliRunner().invoke(command, options)

    assert ran.exit_code == 2
    assert "at least one for each of the 9 requests that run, got 8" in ran.stderr
    assert ran.stderr.count("\n") == 1


def test_help_tells_the_budget_without_the_option() -> None:
    shown = CliRunner().invoke(command, ["--help"]).stdout

    assert f"one of each that runs, and {PROMPT_TOKENS} of prompts" in " ".join(
        shown.split()
    )


def test_signal_lets_streams_end(server: Running) -> None:
    """Eight of them. Whoever comes now gets a 503, and the exit code is 0."""
    header = {"Authorization": f"Bearer {KEY}"}
    asked = {"model": "tiny", "prompt": "Once", "stream": True, "max_tokens": 30}
    ends: list[str] = []
    has_begun = threading.Barrier(9)

    def read() -> None:
        with (
            httpx.Client(timeout=30, trust_env=False, headers=header) as own,
            own.stream(
                "POST", f"{server.url}/v1/completions", json={**asked, **EOS}
            ) as said,
        ):
            lines = (line for line in said.iter_lines() if line)
            next(lines)
            has_begun.wait()
            ends.append(list(lines)[-1])

    readers = [threading.Thread(target=read) for _ in range(8)]
    for one in readers:
        one.start()
    has_begun.wait()
    server.process.send_signal(signal.SIGTERM)
    late = _refused(server.url, header)
    for one in readers:
        one.join()

    assert late == 503
    assert ends == ["data: [DONE]"] * 8
    assert server.process.wait(10) == 0


def _refused(url: str, header: dict[str, str]) -> int:
    """Ask until the answer is not 200, and return its status."""
    status, until = 200, time.monotonic() + 2
    while status == 200 and time.monotonic() < until:
        status = httpx.get(f"{url}/health", headers=header, trust_env=False).status_code
    body = {"model": "tiny", "prompt": "Hi"}
    return httpx.post(
        f"{url}/v1/completions", headers=header, json=body, trust_env=False
    ).status_code
