"""Bodies from the schema and against it, and a client that reads the answers."""

import json
import re
from typing import Any

import httpx
import openai
from hypothesis import strategies as st

_WORDS = st.sampled_from(
    ["fox", "", "Once upon a time", "\ud83e\udd8a", "\x00", "é" * 9]
)
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner)
    ),
    max_leaves=8,
)
_RIGHT: dict[str, list[Any]] = {
    "temperature": [0, 1, 2, 1e-300, None],
    "top_p": [0, 0.5, 1],
    "top_k": [0, 1, 5, 2**63 - 1],
    "seed": [0, 1, 2**63 - 1],
    "stop": ["fox", ["a", "b"], [], None],
    "stream": [True, False],
    "repetition_penalty": [1, 1.2, 0.01, 100],
    "presence_penalty": [-2, 0, 2],
    "frequency_penalty": [-2, 0, 2],
    "logit_bias": [{"5": 100}, {"5": -100}, {}],
    "n": [1, None],
    "user": ["me"],
    "ignore_eos": [True, False],
}
_WRONG: dict[str, list[Any]] = {
    "model": ["gpt", None, 5, ["tiny"]],
    "max_tokens": [10**9, 2**63, 10**400, 0, -1, 1.5, "7", True],
    "temperature": [-1, 1e308, float("nan"), "hot", []],
    "top_p": [1.01, -0.1, float("inf")],
    "top_k": [10**12, 2**63, -1, 0.5],
    "seed": [2**64, -1, 0.5],
    "stop": [[""], [1], "", ["x"] * 20, {}, [None]],
    "stream": [1, "yes"],
    "stream_options": [{"include_usage": True}, {"x": 1}, 3],
    "logprobs": [True, 0, 20, 21, -1, "yes"],
    "top_logprobs": [3, 99],
    "echo": [True, 5],
    "repetition_penalty": [0, -1, 1e9],
    "logit_bias": [
        {"99999999": 1},
        {"x": 1},
        {"-1": 1},
        {"5": None},
        [],
        {"\u0665": 1},
    ],
    "n": [2, 0],
    "user": [5],
    "tools": [[{"type": "function"}]],
    "prompt": ["", [], [""], [-1], [5] * 600, [[5], []], [10**12], {}, ["x"] * 40],
    "messages": ["", [], [{}], [{"role": "robot", "content": "x"}], [[]], [5]],
    "surprise": [1, {"a": []}],
}
_PROMPTS = st.one_of(
    _WORDS.filter(bool), st.lists(_WORDS.filter(bool), min_size=1, max_size=4)
) | st.sampled_from([[5, 6], [[5, 6], [7]]])
_MESSAGE = st.fixed_dictionaries(
    {
        "role": st.sampled_from(["user", "assistant", "system"]),
        "content": _WORDS | st.just([{"type": "text", "text": "Hi"}]),
    }
)


def _right(path: str) -> st.SearchStrategy[dict[str, Any]]:
    """Return what makes objects that the schema of a path allows."""
    messages = st.lists(_MESSAGE, min_size=1, max_size=3)
    own = {"messages": messages} if "chat" in path else {"prompt": _PROMPTS}
    limit = {"max_tokens": st.integers(1, 5), "model": st.just("tiny")}
    others = {name: st.sampled_from(values) for name, values in _RIGHT.items()}
    return st.fixed_dictionaries({**own, **limit}, optional=others)


def _wrong(path: str) -> st.SearchStrategy[dict[str, Any]]:
    """Return what makes objects with a field or two that it does not allow."""
    one = st.sampled_from(sorted(_WRONG)).flatmap(
        lambda name: st.tuples(st.just(name), st.sampled_from(_WRONG[name]) | _JSON)
    )
    wrong = st.lists(one, min_size=1, max_size=2).map(dict)
    return st.builds(lambda right, wrong: {**right, **wrong}, _right(path), wrong)


def _written(fields: dict[str, Any]) -> bytes:
    """Write an object as JSON, or as what Python takes for it: NaN is none."""
    return json.dumps(fields).encode()


_RAW = st.sampled_from(
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'"\xf0\x9f\xa6"',
        b'{"model": "tiny", "prompt": "\xf0\x9f"}',
        b'{"model": "tiny", "prompt": "\\ud83e"}',
        b'{"model": "tiny", "prompt": NaN}',
        b'{"model": "tiny", "prompt": ' + b"9" * 5000 + b"}",
        b"[" * 100_000,
        b'{"prompt":' * 2000 + b"1" + b"}" * 2000,
        b'{"model": "tiny", "prompt": "' + b"x" * 10**7 + b'"}',
        b'{"model": "tiny", "prompt": "x", "prompt": 7}',
        b"\xff\xfe\x00",
    ]
)


def bodies(path: str) -> st.SearchStrategy[bytes]:
    """Return what makes bodies for a path, right ones and wrong ones."""
    wrong = _wrong(path).map(_written)
    cut = st.tuples(wrong, st.integers(0, 200)).map(lambda pair: pair[0][: pair[1]])
    own = _right(path).map(_written)
    return st.one_of(own, own, wrong, wrong, _RAW, st.binary(max_size=50), cut)


class _Instead(httpx.HTTPTransport):
    """Sends another body than the client has written."""

    body = b""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        headers = {"content-type": "application/json", "accept": "*/*"}
        sent = httpx.Request(
            request.method, request.url, headers=headers, content=self.body
        )
        return super().handle_request(sent)


class AnyBody:
    """OpenAI's client, but for what it sends."""

    def __init__(self, url: str) -> None:
        self._transport = _Instead()
        web: Any = httpx.Client(transport=self._transport, timeout=60)
        self._client = openai.OpenAI(
            base_url=url, api_key="-", max_retries=0, http_client=web
        )

    def __enter__(self) -> "AnyBody":
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def said(self, path: str, body: bytes) -> httpx.Response | openai.APIStatusError:
        """Send a body, and return the answer, or the error that the client raises."""
        self._transport.body = body
        try:
            return self._client.post(path, body={}, cast_to=httpx.Response)
        except openai.APIStatusError as error:
            return error


_TELLS = re.compile(r"Traceback|site-packages|\.py\b|/home/|/usr/|/tmp/|/root/")


def wrong_about(said: str) -> str | None:
    """Return what an answer tells of the machine that it should keep to itself."""
    found = _TELLS.search(said)
    return found and found[0]


def assert_is_readable(said: httpx.Response | openai.APIStatusError) -> None:
    """Check that an answer is one, or an error of the client's that says what it is."""
    if isinstance(said, httpx.Response):
        assert '"error"' not in said.text, said.text
        return
    assert said.status_code < 500, said
    assert said.code, said
    assert said.type == "invalid_request_error", said
    assert wrong_about(said.response.text) is None, said
