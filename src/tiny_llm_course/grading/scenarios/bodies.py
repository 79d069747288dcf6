"""Bodies of requests, as clients send them, and as nobody should."""

import json
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from tiny_llm_course.catalogue import say
from tiny_llm_course.grading.judgement.call import Call
from tiny_llm_course.grading.judgement.grader import Grader
from tiny_llm_course.grading.scenarios.scripted_engine import ChatTokenizer
from tiny_llm_course.solution import Solution

READ = "protocol.read_object"
PARSERS = {"chat": "protocol.parse_chat", "completion": "protocol.parse_completion"}
LEAST: dict[str, dict[str, Any]] = {
    "chat": {"model": "tiny", "messages": [{"role": "user", "content": "Hi"}]},
    "completion": {"model": "tiny", "prompt": "Hi"},
}
"""The shortest bodies that are right."""

REFUSED = "BadRequestError"

MOST_SHOWN = 100

NO_OBJECTS = {
    "nothing": b"",
    "no JSON": b"Hello",
    "half of it": b'{"model": "ti',
    "more behind it": b'{"a": 1} {"b": 2}',
    "a list": b"[1]",
    "a text": b'"text"',
    "null": b"null",
    "half a character": '{"a": "é"}'.encode()[:-3] + b'"}',
    "half a surrogate pair": b'{"a": "\\ud83d"}',
    "half a surrogate pair as a name": b'{"a": [{"\\udc00": 1}]}',
    "NaN": b'{"a": NaN}',
    "infinity": b'{"a": [-Infinity]}',
    "a number without end": b'{"a": ' + b"9" * 5000 + b"}",
    "lists in lists": b'{"a": ' + b"[" * 100 + b"]" * 100 + b"}",
    "lists in lists without end": b"[" * 100_000,
    "objects in objects": b'{"a": ' * 60 + b"1" + b"}" * 60,
}
"""Bodies that are not the JSON of an object."""


@dataclass(frozen=True)
class Refusal:
    """What a client is told about an error."""

    param: str | None
    status: int
    code: str


@dataclass(frozen=True)
class Parsed(Call):
    """A call with the bytes of a body.

    It gives what comes back, or what the client is told of an error.

    Attributes:
        picks: Of an object, the attributes that count. None of them is all of it.
    """

    picks: tuple[str, ...] = ()

    def run(self, solution: Solution) -> Any:  # noqa: ANN401 - what a solution returns
        """Call the name as `solution` defines it."""
        refused = solution.get(f"fields.{REFUSED}")
        try:
            got = super().run(solution)
        except refused as error:
            return Refusal(error.param, error.status, error.code)
        return {one: _picked(got, one) for one in self.picks} if self.picks else got

    def __str__(self) -> str:
        """Write the call with its body."""
        body = repr(self.args[0])
        short = body if len(body) <= MOST_SHOWN else f"{body[:MOST_SHOWN]}..."
        others = ", tokenizer" if len(self.args) > 1 else ""
        return f"{self.symbol.split('.')[1]}({short}{others})"


def _picked(value: Any, path: str) -> Any:  # noqa: ANN401 - of a solution
    """Return an attribute, or one of an attribute. Whatever is a sequence is a list."""
    for name in path.split("."):
        value = getattr(value, name)
    if isinstance(value, tuple):
        return [list(one) if isinstance(one, tuple) else one for one in value]
    return value


@dataclass(frozen=True)
class Made(Call):
    """A call of `error_body` with an error of a solution.

    Attributes:
        message: What the error says.
        settings: What else it has.
    """

    symbol: str = "protocol.error_body"
    args: tuple[Any, ...] = ()
    message: str = field(kw_only=True)
    settings: Mapping[str, Any] = field(kw_only=True)

    def run(self, solution: Solution) -> Any:  # noqa: ANN401 - what a solution returns
        """Make an error, and call the name."""
        error = solution.get("fields.RefusedError")(self.message, **self.settings)
        return solution.get(self.symbol)(error)

    def __str__(self) -> str:
        """Write the call."""
        named = "".join(f", {name}={value!r}" for name, value in self.settings.items())
        return f"error_body(RefusedError({self.message!r}{named}))"


def as_bytes(value: object) -> bytes:
    """Write a body, if it is not one already."""
    return value if isinstance(value, bytes) else json.dumps(value).encode()


def parsed(kind: str, more: Mapping[str, Any], *picks: str) -> Parsed:
    """Return the call that reads a body: the shortest right one, and more.

    Args:
        kind: Of the body.
        more: Its fields, besides those that it must have.
        *picks: What of the result counts.
    """
    body = as_bytes({**LEAST[kind], **more})
    return Parsed(PARSERS[kind], (body, ChatTokenizer()), picks=picks)


def assert_asks(
    grade: Grader,
    kind: str,
    more: Mapping[str, Any],
    expected: Mapping[str, Any],
) -> None:
    """Fail unless a body asks for this.

    Args:
        grade: The grader.
        kind: Of the body.
        more: Its fields, besides those that it must have.
        expected: What comes of it: attributes of `Asked`, or `params.` and its own.
    """
    call = parsed(kind, more, *expected)
    got: Any = grade.run(call)
    refused = got.param if isinstance(got, Refusal) else ""
    complaint = say("week_3_day_6.complaints.right_refused", param=refused)
    grade.assert_that(isinstance(got, dict), call, complaint)
    found = cast("dict[str, Any]", got)
    wrong = {name: one for name, one in found.items() if one != expected[name]}
    complaint = say(
        "week_3_day_6.complaints.asks_otherwise",
        got=", ".join(f"{name}={one!r}" for name, one in wrong.items()),
        expected=", ".join(f"{name}={expected[name]!r}" for name in wrong),
    )
    grade.assert_that(not wrong, call, complaint)


def assert_refused(
    grade: Grader, call: Parsed, param: str | None, code: str | None = None
) -> None:
    """Fail unless a body is refused with a 400, and the field to blame is named.

    A part of it may be named as well: `messages[0].role` for `messages`. Without a code
    to expect, any will do.
    """
    told = grade.run(call)
    if not isinstance(told, Refusal):
        complaint = say("week_3_day_6.complaints.accepted", param=param)
        grade.assert_that(False, call, complaint)
    named = (told.param or "").replace("[", ".").split(".")[0] or None
    complaint = say("week_3_day_6.complaints.other_param", param=param, got=told.param)
    grade.assert_that(named == param, call, complaint)
    complaint = say("week_3_day_6.complaints.other_status", status=told.status)
    grade.assert_that(told.status == 400, call, complaint)
    complaint = say("week_3_day_6.complaints.other_code", code=code, got=told.code)
    grade.assert_that(code in (None, told.code), call, complaint)


def odd_bodies(kind: str, number: int) -> list[bytes]:
    """Return bodies that are nearly right, always the same ones.

    One to three fields have a value of another type or size, some are unknown, and of
    some bodies a part is cut off or overwritten.
    """
    draw = random.Random(6)  # noqa: S311 - it decides on tests, not on keys
    names = [*LEAST[kind], *FIELDS]
    bodies: list[bytes] = []
    for _ in range(number):
        fields = dict(LEAST[kind])
        for name in draw.sample(names, draw.randint(1, 3)):
            fields[name] = draw.choice(VALUES)
        body = json.dumps(fields).encode()
        if draw.random() < 0.2:
            place = draw.randrange(len(body))
            body = body[:place] + bytes([draw.randrange(256)]) + body[place + 1 :]
        bodies.append(
            body[: draw.randrange(len(body))] if draw.random() < 0.1 else body
        )
    return bodies


FIELDS = [
    *("stream", "stream_options", "max_tokens", "temperature", "top_p", "top_k"),
    *("seed", "stop", "n", "logprobs", "top_logprobs", "logit_bias", "echo", "user"),
    *("presence_penalty", "frequency_penalty", "response_format", "tools", "zebra"),
]

WRONG = {
    "n": [2],
    "best_of": [3],
    "suffix": ["."],
    "response_format": [{"type": "json_object"}],
    "tools": [[{"type": "function"}]],
    "tool_choice": ["auto"],
    "temprature": [0.5],
    "temperature": ["hot", -0.1, 2.5, True, [1], 10**400],
    "top_p": [1.5, -0.1, "1"],
    "top_k": [-1, 2.5],
    "max_tokens": [0, -1, 1.5, True, "5"],
    "seed": ["x", 1.5],
    "stop": [5, [""], [1], {"a": 1}],
    "presence_penalty": [3, -3, "x"],
    "frequency_penalty": [3, -3],
    "repetition_penalty": [0],
    "logit_bias": [
        *([1], {"x": 1}, {"1000": 1}, {"-1": 1}, {"5": "x"}, {"5": True}),
        *({"5": 101}, {"5": -101}),
    ],
    "stream": ["yes", 1],
    "stream_options": [{"include_usage": True}],
    "ignore_eos": ["no"],
    "model": [None, 5],
}
"""Values that are wrong for every kind of body, by field."""

WRONG_CHAT = {
    "messages": [
        *(None, [], "Hi", {"role": "user"}, ["Hi"], [{"role": "user"}]),
        *([{"content": "Hi"}], [{"role": "wizard", "content": "Hi"}]),
        *([{"role": "tool", "content": "Hi"}], [{"role": ["user"], "content": "Hi"}]),
        *([{"role": "user", "content": 5}], [{"role": "user", "content": None}]),
        [{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}],
        [{"role": "user", "content": "Hi", "tool_calls": [{}]}],
        [{"role": "assistant", "content": "Hi"}],
    ],
    "logprobs": [5],
    "top_logprobs": [3],
    "max_completion_tokens": [0],
}

WRONG_COMPLETION = {
    "prompt": [
        None,
        "",
        [],
        [[]],
        5,
        [1, "x"],
        ["x", 1],
        [-1],
        [1000],
        [1, True],
        [{}],
    ],
    "logprobs": [-1, 1000, True],
    "echo": ["yes"],
    "messages": [[{"role": "user", "content": "Hi"}]],
}


def wrong_fields(kind: str) -> list[tuple[str, Any]]:
    """Return fields with values that are wrong in a body of a kind."""
    own = WRONG_CHAT if kind == "chat" else WRONG_COMPLETION
    fields = {**WRONG, **own}
    return [(name, value) for name, values in fields.items() for value in values]


VALUES: list[Any] = [
    *(
        None,
        True,
        False,
        0,
        1,
        -1,
        1.5,
        10**30,
        -(10**400),
        1e308,
        "",
        "text",
        "\ud800",
    ),
    *([], [1], [-1], [10**9], [[]], [None], [True], ["", "\n"], [[1, "x"]], [{}]),
    *({}, {"": 1}, {"1": 1}, {"-1": "x"}, {"1": True}, {"a": {"b": [{}]}}),
    *([{"role": "user"}], [{"role": ["user"], "content": "x"}], [{"content": 1}]),
    [{"role": "user", "content": [{"type": "text", "text": 1}, "x"]}],
    [{"role": "assistant", "content": ""}],
    {"include_usage": "yes"},
]


MISTAKES = (
    *(ValueError, TypeError, LookupError, ArithmeticError, AttributeError),
    RecursionError,
)
"""What a parser raises that did not think of a body."""


@dataclass(frozen=True)
class ParsedAll(Call):
    """Calls with many bodies. Gives those that raise what is not for the client."""

    def run(self, solution: Solution) -> list[str]:
        """Return the bodies, each with the error."""
        refused = solution.get(f"fields.{REFUSED}")
        target, found = solution.get(self.symbol), list[str]()
        for body in self.args[0]:
            try:
                target(body, ChatTokenizer())
            except refused:
                continue
            except MISTAKES as error:
                found.append(f"{type(error).__name__}: {body[:MOST_SHOWN]!r}")
        return found

    def __str__(self) -> str:
        """Write the call."""
        return f"{self.symbol.split('.')[1]}(body, tokenizer)"
