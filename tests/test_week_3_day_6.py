"""Week 3, day 6: the server.

The chapter: book/en/week-3-day-6-server.md
"""

import asyncio
import json
import threading
from typing import Any

import pytest

from tiny_llm_course.catalogue import say
from tiny_llm_course.grading.judgement.grader import Grader
from tiny_llm_course.grading.scenarios.bodies import (
    NO_OBJECTS,
    PARSERS,
    READ,
    Made,
    Parsed,
    ParsedAll,
    as_bytes,
    assert_asks,
    assert_refused,
    odd_bodies,
    parsed,
    wrong_fields,
)
from tiny_llm_course.grading.scenarios.fakes import END_OF_DOCUMENT
from tiny_llm_course.grading.scenarios.scripted_engine import (
    ChatTokenizer,
    MarkingTokenizer,
)
from tiny_llm_course.grading.scenarios.served import (
    COMPLETE,
    HI,
    SLOW,
    STREAM,
    WRONG_BODIES,
    Site,
    asked_wrongly,
    is_sample,
    served,
)
from tiny_llm_course.grading.scenarios.submitting import Room, raised_by, threaded

KINDS = list(PARSERS)
DEFAULTS: dict[str, Any] = {
    "params.temperature": 1.0,
    "params.top_p": 1.0,
    "params.top_k": 0,
    "params.seed": None,
    "params.stop": [],
    "params.logprobs": None,
    "params.presence_penalty": 0.0,
    "params.logit_bias": {},
    "stream": False,
    "include_usage": False,
    "model": "tiny",
}


@pytest.mark.parametrize(
    "value", [{}, {"a": [1, 2.5, None, True]}, {"ä": "€ 元"}, {"a": {"b": {"c": {}}}}]
)
def test_task_1_reads_an_object(grade: Grader, value: dict[str, Any]) -> None:
    grade.assert_equal(Parsed(READ, (as_bytes(value),)), value)


@pytest.mark.parametrize("name", NO_OBJECTS)
def test_task_1_refuses_what_is_no_object(grade: Grader, name: str) -> None:
    """A client that sends this made a mistake, and reads so: a 400, and no 500."""
    call = Parsed(READ, (NO_OBJECTS[name],))

    assert_refused(grade, call, None, code="invalid_json")


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        *[(status, "invalid_request_error") for status in (400, 401, 404, 413, 429)],
        *[(500, "server_error"), (503, "server_error")],
    ],
)
def test_task_1_writes_an_error_as_clients_read_it(
    grade: Grader, status: int, kind: str
) -> None:
    settings = {"status": status, "code": "odd", "param": "n"}

    body = {"message": "n: odd", "type": kind, "param": "n", "code": "odd"}
    grade.assert_equal(Made(message="n: odd", settings=settings), {"error": body})


def test_task_2_a_chat_has_the_defaults_of_the_api(grade: Grader) -> None:
    assert_asks(grade, "chat", {}, DEFAULTS)


def test_task_2_a_chat_goes_on_while_there_is_room(grade: Grader) -> None:
    call = parsed("chat", {}, "params.max_tokens")

    got = grade.run(call)
    most = got["params.max_tokens"] if isinstance(got, dict) else 0

    complaint = say("week_3_day_6.complaints.chat_is_short", got=most)
    grade.assert_that(most >= 10_000, call, complaint)


def test_task_2_a_completion_has_the_defaults_of_the_api(grade: Grader) -> None:
    wanted = {**DEFAULTS, "params.max_tokens": 16, "echo": False}

    assert_asks(grade, "completion", {}, wanted)


@pytest.mark.parametrize("kind", KINDS)
def test_task_2_null_is_as_good_as_nothing(grade: Grader, kind: str) -> None:
    """Clients write out what they do not set."""
    names = [one.rpartition(".")[2] for one in DEFAULTS]
    others = ["n", "user", "stream_options", "tools", "max_tokens"]
    nothing = dict.fromkeys({*names, *others} - {"model", "include_usage"})

    assert_asks(grade, kind, nothing, DEFAULTS)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("name", "value", "becomes", "got"),
    [
        ("max_tokens", 7, "params.max_tokens", 7),
        ("temperature", 0, "params.temperature", 0.0),
        ("temperature", 0.5, "params.temperature", 0.5),
        ("top_p", 0.9, "params.top_p", 0.9),
        ("top_k", 5, "params.top_k", 5),
        ("seed", 0, "params.seed", 0),
        ("seed", 7, "params.seed", 7),
        ("stop", "the end", "params.stop", ["the end"]),
        ("stop", ["\n\n", "the end"], "params.stop", ["\n\n", "the end"]),
        ("presence_penalty", -2, "params.presence_penalty", -2.0),
        ("frequency_penalty", 0.5, "params.frequency_penalty", 0.5),
        ("repetition_penalty", 1.5, "params.repetition_penalty", 1.5),
        ("logit_bias", {"97": -100, "5": 2.5}, "params.logit_bias", {97: -100, 5: 2.5}),
        ("ignore_eos", True, "params.ignore_end", True),
        ("stream", True, "stream", True),
        ("model", "other", "model", "other"),
        ("user", "me", "model", "tiny"),
        ("n", 1, "model", "tiny"),
        ("response_format", {"type": "text"}, "model", "tiny"),
    ],
)
def test_task_2_takes_what_a_body_says(
    grade: Grader, kind: str, name: str, value: object, becomes: str, got: object
) -> None:
    assert_asks(grade, kind, {name: value}, {becomes: got})


@pytest.mark.parametrize("includes", [True, False])
def test_task_2_a_stream_may_ask_for_usage(grade: Grader, includes: bool) -> None:
    more = {"stream": True, "stream_options": {"include_usage": includes}}

    assert_asks(grade, "chat", more, {"stream": True, "include_usage": includes})


def test_task_2_the_template_makes_one_prompt_of_a_chat(grade: Grader) -> None:
    """It ends where the assistant is to go on."""
    said = [("system", "Be brief."), ("user", "Hi"), ("assistant", "Yo"), ("user", "?")]
    messages = [{"role": role, "content": content} for role, content in said]
    text = (
        "<system>Be brief.<end><user>Hi<end><assistant>Yo<end><user>?<end><assistant>"
    )

    prompt = parsed("chat", {}).args[1].encode(text)
    assert_asks(grade, "chat", {"messages": messages}, {"prompts": [prompt]})


def test_task_2_a_message_may_have_its_text_in_parts(grade: Grader) -> None:
    parts = [{"type": "text", "text": one} for one in ("Hel", "lo")]
    messages = [{"role": "user", "content": parts, "name": None}]

    prompt = parsed("chat", {}).args[1].encode("<user>Hello<end><assistant>")
    assert_asks(grade, "chat", {"messages": messages}, {"prompts": [prompt]})


@pytest.mark.parametrize(
    ("prompt", "ids"),
    [
        ("Hi", [[72, 105]]),
        (["Hi", "a"], [[72, 105], [97]]),
        ([72, 105], [[72, 105]]),
        ([[72], [105, 257]], [[72], [105, 257]]),
        (["x"] * 3, [[120]] * 3),
    ],
)
def test_task_2_a_prompt_has_four_forms(
    grade: Grader, prompt: object, ids: list[list[int]]
) -> None:
    assert_asks(grade, "completion", {"prompt": prompt}, {"prompts": ids})


@pytest.mark.parametrize(
    ("more", "number"),
    [
        ({"logprobs": True}, 0),
        ({"logprobs": True, "top_logprobs": 3}, 3),
        ({"logprobs": False}, None),
    ],
)
def test_task_2_a_chat_asks_for_log_probabilities(
    grade: Grader, more: dict[str, Any], number: int | None
) -> None:
    expected = {"params.logprobs": number, "params.prompt_logprobs": False}

    assert_asks(grade, "chat", more, expected)


@pytest.mark.parametrize(
    ("echo", "number"), [(True, 1), (False, 2), (True, None), (True, 0)]
)
def test_task_2_a_completion_asks_for_those_of_its_prompt(
    grade: Grader, echo: bool, number: int | None
) -> None:
    """Programs that evaluate models read them, with `echo`."""
    more = {"echo": echo, "logprobs": number}
    wanted = {"echo": echo, "params.logprobs": number}

    of_prompt = {"params.prompt_logprobs": echo and number is not None}
    assert_asks(grade, "completion", more, {**wanted, **of_prompt})


def test_task_2_a_chat_knows_the_newer_name_of_max_tokens(grade: Grader) -> None:
    more = {"max_completion_tokens": 9}

    assert_asks(grade, "chat", more, {"params.max_tokens": 9})


@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [(kind, name, value) for kind in KINDS for name, value in wrong_fields(kind)],
)
def test_task_2_refuses_a_field_by_name(
    grade: Grader, kind: str, name: str, value: object
) -> None:
    """What cannot be done is never ignored: the client would take it for done."""
    assert_refused(grade, parsed(kind, {name: value}), name)


@pytest.mark.parametrize("kind", KINDS)
def test_task_2_refuses_what_it_has_not_in_the_options_of_a_stream(
    grade: Grader, kind: str
) -> None:
    """A field within a field is none that may be ignored."""
    options = {"include_usage": True, "include_zebra": True}
    call = parsed(kind, {"stream": True, "stream_options": options})

    assert_refused(grade, call, "stream_options")


@pytest.mark.parametrize("limits", [(5, 7), (7, 5)], ids=str)
def test_task_2_ignores_neither_of_two_limits(
    grade: Grader, limits: tuple[int, int]
) -> None:
    """Refused, or the lower one: both are kept then."""
    older, newer = limits
    more = {"max_tokens": older, "max_completion_tokens": newer}
    call = parsed("chat", more, "params.max_tokens")

    got = grade.run(call)
    most = got["params.max_tokens"] if isinstance(got, dict) else min(limits)

    complaint = say("week_3_day_6.complaints.one_limit_ignored", got=most)
    grade.assert_that(most == min(limits), call, complaint)


@pytest.mark.parametrize("kind", KINDS)
def test_task_2_raises_nothing_else_whatever_comes(grade: Grader, kind: str) -> None:
    call = ParsedAll(PARSERS[kind], (odd_bodies(kind, 300),))

    found = grade.run(call)

    complaint = say("week_3_day_6.complaints.raises", errors="\n".join(found[:3]))
    grade.assert_that(not found, call, complaint)


def test_task_3_yields_what_the_engine_says(grade: Grader) -> None:
    async def use(room: Room) -> list[str]:
        outputs = [one async for one in room.submit("one")]
        return [one.text for one in outputs] + [outputs[-1].finish_reason]

    call = threaded(use, 'thread.submit("one", ids, params)')

    grade.assert_equal(call, [*"a fox", "", "stop"])


def test_task_3_everybody_gets_their_own(grade: Grader) -> None:
    """All of them run in the same steps, and end in another order than they came."""

    async def use(room: Room) -> tuple[list[str], bool]:
        asks = [room.text(name, text) for name, text in zip("abc", "xyz", strict=True)]
        texts = await asyncio.gather(*asks)
        return texts, room.engine.most_at_once == 3

    settings = {"texts": {"x": "a long story", "z": "no"}, "step_s": 0.002}
    call = threaded(use, "three times thread.submit", engine=settings)

    grade.assert_equal(call, (["a long story", "a fox", "no"], True))


def test_task_3_only_one_thread_calls_the_engine(grade: Grader) -> None:
    """It is not made for two at once, and MLX keeps its streams apart by thread."""

    async def use(room: Room) -> tuple[int, list[str]]:
        await asyncio.gather(room.text("one"), room.text("two"))
        leaving = room.submit("three")
        await anext(leaving)
        await leaving.aclose()
        await room.waits_until(lambda: not room.engine.has_work)
        threads = room.engine.threads
        return len(threads), sorted(threads.get(threading.get_ident(), ()))

    call = threaded(use, "thread.submit, and closing one early")

    grade.assert_equal(call, (1, []))


def test_task_3_the_event_loop_goes_on_during_a_step(grade: Grader) -> None:
    """A step that waits for the loop ends only if the loop is free."""

    async def use(room: Room) -> int:
        text = asyncio.ensure_future(room.text("one"))
        await room.waits_until(lambda: bool(room.engine.heard))
        room.engine.gate.set()
        await text
        return room.engine.num_late

    call = threaded(use, 'thread.submit("one", ids, params)', engine={"gated_at": {0}})

    late = grade.run(call)
    grade.assert_that(late == 0, call, say("week_3_day_6.complaints.loop_blocked"))


@pytest.mark.parametrize("way", ["closed", "cancelled"])
def test_task_3_who_leaves_aborts(grade: Grader, way: str) -> None:
    """The engine computes nothing for somebody who has left."""

    async def use(room: Room) -> tuple[list[str], bool]:
        said = room.submit("one")
        await anext(said)
        if way == "closed":
            await said.aclose()
        else:
            waiting = asyncio.ensure_future(_rest(said))
            await asyncio.sleep(0.01)
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
        before = room.engine.heard[0].num_said
        is_gone = await room.waits_until(lambda: not room.engine.has_work)
        late = room.engine.heard[0].num_said - before
        return room.engine.aborted if is_gone else [], late <= 2

    settings = {"text": "x" * 500, "step_s": 0.005}
    call = threaded(use, f"thread.submit, and {way} early", engine=settings)

    grade.assert_equal(call, (["one"], True))


async def _rest(said: Any) -> list[Any]:  # noqa: ANN401 - of a solution
    return [one async for one in said]


def test_task_3_what_the_engine_refuses_is_told(grade: Grader) -> None:
    """And the others never learn of it."""

    async def use(room: Room) -> tuple[str, str]:
        other = asyncio.ensure_future(room.text("one"))
        error = await raised_by(room.text("two", "x" * 200))
        return error, await other

    settings = {"step_s": 0.002}
    call = threaded(use, "thread.submit with too many ids", engine=settings)

    grade.assert_equal(call, ("ValueError", "a fox"))


def test_task_3_a_step_that_raises_is_told_to_all(grade: Grader) -> None:
    """The thread lives on, for those who come later, and computes for nobody else."""

    async def use(room: Room) -> tuple[list[str], str, list[str]]:
        both = (raised_by(room.text(name)) for name in ("one", "two"))
        errors = await asyncio.gather(*both)
        return list(errors), await room.text("three"), sorted(room.engine.aborted)

    settings = {"raises_at": 2, "step_s": 0.005}
    call = threaded(use, "a step of the engine raises", engine=settings)

    grade.assert_equal(call, (["RefusedError"] * 2, "a fox", ["one", "two"]))


def test_task_3_an_idle_thread_takes_no_time(grade: Grader) -> None:
    async def use(room: Room) -> int:
        await room.text("one")
        before = room.engine.num_asked
        await asyncio.sleep(0.2)
        return room.engine.num_asked - before

    call = threaded(use, "nobody wants anything for 0.2 s")

    busy = grade.run(call) > 2000
    grade.assert_that(not busy, call, say("week_3_day_6.complaints.busy"))


def test_task_3_drains(grade: Grader) -> None:
    """Those who are in get their answers, and nobody else comes in."""

    async def use(room: Room) -> tuple[str, str, bool]:
        said = room.submit("one")
        first = (await anext(said)).text
        draining = asyncio.ensure_future(room.thread.drain())
        await asyncio.sleep(0.01)
        error = await raised_by(room.text("two"))
        was_done = draining.done()
        rest = "".join([one.text async for one in said])
        await draining
        return first + rest, error, was_done

    settings = {"text": "x" * 20, "step_s": 0.005}
    call = threaded(use, "thread.drain while one runs", engine=settings)

    grade.assert_equal(call, ("x" * 20, "RefusedError", False))


def test_task_3_stops(grade: Grader) -> None:
    """Whoever waits is told, and the thread is gone."""

    async def use(room: Room) -> tuple[bool, int]:
        before = threading.active_count()
        waiting = asyncio.ensure_future(raised_by(room.text("one")))
        await room.waits_until(lambda: bool(room.engine.heard))
        await asyncio.to_thread(room.thread.stop)
        return bool(await waiting), before - threading.active_count() + 1

    # Long enough that who does not wait is back before the step ends, on any machine.
    settings = {"text": "x" * 500, "step_s": 0.3}
    call = threaded(use, "thread.stop while one runs", engine=settings, stops=False)

    # One thread less, and one more: that in which `stop` was called.
    grade.assert_equal(call, (True, 1))


def test_task_4_lists_its_model(grade: Grader) -> None:
    def drive(site: Site) -> tuple[list[str], str]:
        models = site.client().models
        return [one.id for one in models.list()], models.retrieve("tiny").id

    call = served(drive, "client.models.list()")

    grade.assert_equal(call, (["tiny"], "tiny"))


def test_task_4_answers_a_chat(grade: Grader) -> None:
    def drive(site: Site) -> dict[str, Any]:
        answer = site.chat()
        choice = answer.choices[0]
        return {
            "object": answer.object,
            "model": answer.model,
            "role": choice.message.role,
            "content": choice.message.content,
            "finish_reason": choice.finish_reason,
        }

    call = served(drive, HI)

    said = {"role": "assistant", "content": "a fox", "finish_reason": "stop"}
    grade.assert_equal(call, {"object": "chat.completion", "model": "tiny", **said})


def test_task_4_counts_tokens(grade: Grader) -> None:
    def drive(site: Site) -> tuple[int, int, int, str]:
        answer = site.chat(max_tokens=3)
        used = answer.usage
        counts = (used.prompt_tokens, used.completion_tokens, used.total_tokens)
        return *counts, answer.choices[0].finish_reason

    call = served(drive, HI.replace(")", ", max_tokens=3)"))

    num_prompt = len("<user>Hi") + 1 + len("<assistant>")
    grade.assert_equal(call, (num_prompt, 3, num_prompt + 3, "length"))


def test_task_4_hands_its_parameters_to_the_engine(grade: Grader) -> None:
    def drive(site: Site) -> tuple[Any, ...]:
        site.chat(seed=5, stop=["."], presence_penalty=0.5, temperature=0.2)
        params = site.engine.heard[0].params
        chosen = params.seed, tuple(params.stop), params.presence_penalty
        return *chosen, params.temperature

    call = served(drive, HI.replace(")", ', seed=5, stop=["."], ...)'))

    grade.assert_equal(call, (5, (".",), 0.5, 0.2))


def test_task_4_answers_prompts_in_their_order(grade: Grader) -> None:
    """Whichever ends first. All of them run at once."""

    def drive(site: Site) -> tuple[list[tuple[int, str]], bool, int]:
        answer = site.complete(prompt=["x", "y", "z"], max_tokens=50)
        texts = [(one.index, one.text) for one in answer.choices]
        total = answer.usage.completion_tokens
        return texts, site.engine.most_at_once == 3, total

    engine = {"texts": {"x": "a long story", "z": "no"}, "step_s": 0.002}
    call = served(drive, COMPLETE.replace("Hi", "x"), engine=engine)

    texts = [(0, "a long story"), (1, "a fox"), (2, "no")]
    grade.assert_equal(call, (texts, True, 19))


def test_task_4_echoes_with_log_probabilities(grade: Grader) -> None:
    """Evaluations compare a token with the likeliest one: both are the same float."""

    def drive(site: Site) -> dict[str, Any]:
        answer = site.complete(echo=True, logprobs=1, max_tokens=1)
        found = answer.choices[0].logprobs
        last = max(found.top_logprobs[-1].values())
        return {
            "text": answer.choices[0].text,
            "tokens": found.tokens,
            "token_logprobs": found.token_logprobs,
            "likeliest": [found.top_logprobs[0], last],
        }

    more = ", echo=True, logprobs=1, max_tokens=1)"
    call = served(drive, COMPLETE.replace(")", more))

    tokens = {"text": "Hia", "tokens": ["H", "i", "a"]}
    likely = {"token_logprobs": [None, -0.2, -0.1], "likeliest": [None, -0.1]}
    grade.assert_equal(call, {**tokens, **likely})


def test_task_4_tells_log_probabilities_of_a_chat(grade: Grader) -> None:
    def drive(site: Site) -> list[tuple[str, float, list[str]]]:
        answer = site.chat(logprobs=True, top_logprobs=2, max_tokens=2)
        return [
            (one.token, one.logprob, [each.token for each in one.top_logprobs])
            for one in answer.choices[0].logprobs.content
        ]

    more = ", logprobs=True, top_logprobs=2, max_tokens=2)"
    call = served(drive, HI.replace(")", more))

    grade.assert_equal(call, [("a", -0.1, ["a", "?"]), (" ", -0.11, [" ", "?"])])


def test_task_4_each_answer_has_an_id_of_its_own(grade: Grader) -> None:
    call = served(lambda site: site.chat().id == site.chat().id, f"{HI}, twice")

    grade.assert_equal(call, False)


@pytest.mark.parametrize("name", WRONG_BODIES)
def test_task_4_errors_have_a_type_a_param_and_a_code(grade: Grader, name: str) -> None:
    """The client makes an error of Python of the status, with what stands in it."""
    more, error = WRONG_BODIES[name]
    call = served(
        lambda site: site.refused(lambda: site.chat(**more)), asked_wrongly(more)
    )

    grade.assert_equal(call, error)


def test_task_4_too_long_a_prompt_is_told_in_tokens(grade: Grader) -> None:
    def drive(site: Site) -> tuple[int, str, bool, int]:
        answer = site.post(prompt="x" * 321)
        error = answer.json()["error"]
        tells = all(one in error["message"] for one in ("321", "99"))
        return answer.status_code, error["code"], tells, len(site.engine.heard)

    call = served(drive, COMPLETE.replace("Hi", "x" * 9 + "..."))

    grade.assert_equal(call, (400, "context_length_exceeded", True, 0))


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/completions"])
def test_task_4_no_bytes_are_an_error_of_the_server(grade: Grader, path: str) -> None:
    def drive(site: Site) -> dict[str, int]:
        answers = {
            name: site.http("POST", path, content=body)
            for name, body in NO_OBJECTS.items()
        }
        return {
            name: answer.status_code
            for name, answer in answers.items()
            if answer.status_code != 400 or set(answer.json()) != {"error"}
        }

    call = served(drive, f"POST {path} of {len(NO_OBJECTS)} bodies that are no object")

    grade.assert_equal(call, {})


@pytest.mark.parametrize("knows_length", [True, False])
def test_task_4_a_body_has_a_limit(grade: Grader, knows_length: bool) -> None:
    """Also where no header says how long it is going to be."""

    def drive(site: Site) -> tuple[int, bool]:
        parts = [b" " * 1000] * 100
        content = b"".join(parts) if knows_length else iter(parts)
        answer = site.http("POST", "/v1/completions", content=content)
        return answer.status_code, "error" in answer.json()

    call = served(drive, "POST 100000 bytes", limits={"max_body_bytes": 5000})

    grade.assert_equal(call, (413, True))


def test_task_4_a_body_has_to_come_in_time(grade: Grader) -> None:
    call = served(
        lambda site: site.half_sent().partition("\r\n")[0].split()[1:2],
        "POST /v1/completions, of which half is sent",
        limits={"body_timeout_s": 0.1},
    )

    grade.assert_equal(call, ["408"])


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        *(("GET", "/v2/models", 404), ("GET", "/v1/models/gpt", 404)),
        *(("GET", "/v1/completions", 405), ("GET", "/health", 200)),
    ],
)
def test_task_4_what_there_is_not_is_an_error_that_clients_can_read(
    grade: Grader, method: str, path: str, status: int
) -> None:
    def drive(site: Site) -> tuple[int, bool]:
        answer = site.http(method, path)
        return answer.status_code, "message" in answer.json().get("error", {})

    grade.assert_equal(served(drive, f"{method} {path}"), (status, status != 200))


@pytest.mark.parametrize(
    ("key", "statuses"),
    [
        *(("secret", [200, 200, 200]), ("secre", [401, 401, 200])),
        *(("secrets", [401, 401, 200]), ("", [401, 401, 200]), ("é", [401, 401, 200])),
    ],
)
def test_task_4_asks_for_the_key(grade: Grader, key: str, statuses: list[int]) -> None:
    """Everywhere but under /health, which watches over the server."""

    def drive(site: Site) -> list[int]:
        paths = ("/v1/models", "/metrics", "/health")
        header = {"Authorization": f"Bearer {key}".encode()} if key else {}
        answers = [site.http("GET", path, headers=header) for path in paths]
        return [one.status_code for one in answers]

    call = served(drive, f"with the key {key!r}", limits={"api_key": "secret"})

    grade.assert_equal(call, statuses)


def test_task_4_a_missing_key_is_an_error_of_its_own(grade: Grader) -> None:
    def drive(site: Site) -> str:
        return site.refused(site.chat)["error"]

    call = served(drive, HI, limits={"api_key": "secret"})

    grade.assert_equal(call, "AuthenticationError")


def test_task_4_a_failing_engine_is_an_error_of_the_server(grade: Grader) -> None:
    """And the next request is answered."""

    def drive(site: Site) -> tuple[int, bool, str]:
        answer = site.post()
        tells = "a broken row" in answer.json()["error"]["message"]
        site.engine.fails_at = None
        return answer.status_code, tells, site.complete().choices[0].text

    call = served(drive, COMPLETE, engine={"fails_at": 2}, is_raised=False)

    grade.assert_equal(call, (500, True, "a fox"))


def test_task_4_the_server_goes_on_while_the_engine_computes(grade: Grader) -> None:
    """A step that waits until somebody else was answered."""

    def drive(site: Site) -> tuple[int, int]:
        with site.leaving():
            site.waits_until(lambda: bool(site.engine.heard))
            status = site.http("GET", "/health").status_code
            site.engine.gate.set()
            site.waits_until(lambda: not site.engine.has_work)
            return status, site.engine.num_late

    call = served(drive, "GET /health, during a step", engine={"gated_at": {0}})

    grade.assert_equal(call, (200, 0))


def test_task_4_who_leaves_aborts(grade: Grader) -> None:
    """Nobody would read the answer. It is one, or three at once."""

    def drive(site: Site) -> tuple[bool, int, bool]:
        with site.leaving(prompt=["x", "y", "z"], max_tokens=90):
            site.waits_until(lambda: len(site.engine.heard) == 3)
        is_gone = site.waits_until(lambda: not site.engine.has_work)
        num_said = max(one.num_said for one in site.engine.heard)
        return is_gone, len(site.engine.aborted), num_said < 50

    call = served(drive, "POST /v1/completions, then hang up", engine=SLOW)

    grade.assert_equal(call, (True, 3, True))


def test_task_4_splits_a_text_for_others(grade: Grader) -> None:
    def drive(site: Site) -> dict[str, Any]:
        body = {"prompt": "Hi", "add_special_tokens": False}
        answer = site.http("POST", "/tokenize", json=body)
        found = {**site.http("GET", "/tokenizer_info").json(), **answer.json()}
        names = ("tokens", "count", "eos_token")
        return {"status": answer.status_code, **{one: found.get(one) for one in names}}

    shown = "POST /tokenize with prompt and add_special_tokens, GET /tokenizer_info"
    call = served(drive, shown)

    ids = {"tokens": [72, 105], "count": 2}
    grade.assert_equal(call, {"status": 200, **ids, "eos_token": "<end>"})


@pytest.mark.parametrize(
    ("special", "ids"), [(True, [END_OF_DOCUMENT, 72, 105]), (False, [72, 105])]
)
def test_task_4_adds_special_tokens_to_a_text_if_asked(
    grade: Grader, ids: list[int], *, special: bool
) -> None:
    """To a text that begins and to one that goes on belong other tokens."""

    def drive(site: Site) -> tuple[int, list[int]]:
        body = {"prompt": "Hi", "add_special_tokens": special}
        answer = site.http("POST", "/tokenize", json=body)
        return answer.status_code, answer.json().get("tokens")

    shown = f"POST /tokenize with prompt and add_special_tokens {json.dumps(special)}"
    call = served(drive, shown, engine={"tokenizer": MarkingTokenizer()})

    grade.assert_equal(call, (200, ids))


def test_task_4_tells_also_what_its_tokenizer_has_not(grade: Grader) -> None:
    """`null` says that there is none. A field that is missing says nothing."""

    def drive(site: Site) -> dict[str, Any]:
        found = site.http("GET", "/tokenizer_info").json()
        names = ("eos_token", "bos_token", "pad_token", "chat_template")
        return {one: found.get(one, "?") for one in names}

    call = served(drive, "GET /tokenizer_info")

    known = {"eos_token": "<end>", "chat_template": ChatTokenizer.chat_template}
    expected = {**known, "bos_token": None, "pad_token": None}
    grade.assert_equal(call, expected)


def test_task_4_counts_for_a_dashboard(grade: Grader) -> None:
    """Lines that Prometheus can read."""

    def drive(site: Site) -> tuple[int, bool, bool]:
        answer = site.http("GET", "/metrics")
        lines = [one for one in answer.text.splitlines() if one[:1] not in ("", "#")]
        is_plain = answer.headers["content-type"].startswith("text/plain")
        return answer.status_code, is_plain, all(map(is_sample, lines))

    grade.assert_equal(served(drive, "GET /metrics"), (200, True, True))


def test_task_4_asks_the_gate_who_may_come_in(grade: Grader) -> None:
    """All prompts of a body, or none: two have a place each, and a third has none."""

    def drive(site: Site) -> tuple[list[int], int]:
        bodies = (["x", "y", "z"], ["x", "y"])
        statuses = [site.post(prompt=prompts).status_code for prompts in bodies]
        return statuses, len(site.engine.heard)

    shown = COMPLETE.replace('"Hi"', '["x", "y", "z"]') + ", then with two prompts"
    call = served(drive, shown, places=2)

    grade.assert_equal(call, ([429, 200], 2))


def test_task_4_tells_a_refused_client_when_to_come_back(grade: Grader) -> None:
    """The gate says 2.5 seconds. A header has whole ones, and 2 would be too early."""

    def drive(site: Site) -> tuple[int, str | None]:
        answer = site.post(prompt=["x", "y"])
        return answer.status_code, answer.headers.get("retry-after")

    shown = COMPLETE.replace('"Hi"', '["x", "y"]') + ", then the header Retry-After"
    call = served(drive, shown, places=1)

    grade.assert_equal(call, (429, "3"))


@pytest.mark.parametrize(
    ("way", "reason"),
    [("to its end", "stop"), ("to its limit", "length"), ("to an error", "error")],
)
def test_task_4_gives_places_back_and_tells_why(
    grade: Grader, way: str, reason: str
) -> None:
    """Whatever a request comes to, the next one gets its place."""

    def drive(site: Site) -> tuple[int, list[str], int]:
        site.post(max_tokens=2 if reason == "length" else 9)
        site.waits_until(lambda: not site.gate.num_open)
        return site.gate.num_open, site.tally.reasons[:], site.post().status_code

    settings = {"fails_at": 2} if reason == "error" else {}
    call = served(
        drive, f"{COMPLETE}, {way}", engine=settings, places=1, is_raised=False
    )

    grade.assert_equal(call, (0, [reason], 500 if reason == "error" else 200))


def test_task_4_who_leaves_gives_the_place_back(grade: Grader) -> None:
    def drive(site: Site) -> tuple[int, list[str]]:
        with site.leaving(max_tokens=90):
            site.waits_until(lambda: bool(site.engine.heard))
        site.waits_until(lambda: not site.gate.num_open)
        return site.gate.num_open, site.tally.reasons

    call = served(drive, "POST /v1/completions, then hang up", engine=SLOW, places=1)

    grade.assert_equal(call, (0, ["abort"]))


def test_task_4_tells_the_counters_what_the_engine_gives(grade: Grader) -> None:
    """And everybody what the counters say."""

    def drive(site: Site) -> tuple[list[int | None], list[str], str]:
        site.post()
        site.waits_until(lambda: bool(site.tally.reasons))
        told = site.http("GET", "/metrics").text
        return site.tally.tokens, site.tally.open, told

    call = served(drive, f"{COMPLETE}, GET /metrics", places=1)

    grade.assert_equal(call, ([*b"a fox", None], [], "answers_total 1\n"))


def test_task_4_shuts_its_door_when_it_drains(grade: Grader) -> None:
    def drive(site: Site) -> tuple[int, int]:
        site.host.begin(site.app.state.engine_thread.drain())
        return site.post().status_code, site.http("GET", "/health").status_code

    call = served(drive, "app.state.engine_thread.drain()")

    grade.assert_equal(call, (503, 503))


def test_task_5_streams_a_chat(grade: Grader) -> None:
    def drive(site: Site) -> dict[str, Any]:
        chunks = site.chat(stream=True)
        choices = [one.choices[0] for one in chunks]
        return {
            "object": chunks[0].object,
            "role": [one.delta.role for one in choices if one.delta.role],
            "text": "".join(one.delta.content or "" for one in choices),
            "finish_reason": [
                one.finish_reason for one in choices if one.finish_reason
            ],
            "ends with it": bool(choices[-1].finish_reason),
        }

    call = served(drive, STREAM)

    told = {"object": "chat.completion.chunk", "role": ["assistant"], "text": "a fox"}
    ending = {"finish_reason": ["stop"], "ends with it": True}
    grade.assert_equal(call, {**told, **ending})


def test_task_5_streams_are_events_with_an_end(grade: Grader) -> None:
    """Each stands in a line of its own, and the last says that nothing was lost."""

    def drive(site: Site) -> tuple[bool, str, str]:
        answer = site.post(stream=True)
        kind = answer.headers["content-type"].partition(";")[0]
        events = [one for one in answer.text.split("\n\n") if one]
        are_events = all(one.startswith("data: ") for one in events)
        return are_events, kind, events[-1]

    call = served(drive, STREAM)

    grade.assert_equal(call, (True, "text/event-stream", "data: [DONE]"))


def test_task_5_all_chunks_have_one_id(grade: Grader) -> None:
    def drive(site: Site) -> tuple[int, int, bool]:
        first, second = site.chat(stream=True), site.chat(stream=True)
        ids = [{one.id for one in chunks} for chunks in (first, second)]
        created = {one.created for one in first}
        return len(ids[0]), len(created), ids[0] == ids[1]

    grade.assert_equal(served(drive, f"{STREAM}, twice"), (1, 1, False))


@pytest.mark.parametrize("asks", [True, False])
def test_task_5_usage_comes_last_for_who_asks(grade: Grader, asks: bool) -> None:
    """In a chunk without choices. Others would take their first one."""

    def drive(site: Site) -> tuple[list[int], int, list[int]]:
        options = {"stream_options": {"include_usage": True}} if asks else {}
        chunks = site.chat(stream=True, **options)
        found = [at for at, one in enumerate(chunks) if one.usage is not None]
        totals = [chunks[at].usage.completion_tokens for at in found]
        empty = [at for at, one in enumerate(chunks) if not one.choices]
        last = len(chunks) - 1
        return [at - last for at in found], len(empty), totals

    call = served(drive, STREAM)

    grade.assert_equal(call, ([0], 1, [5]) if asks else ([], 0, []))


def test_task_5_a_chunk_comes_as_soon_as_it_is_there(grade: Grader) -> None:
    """The third letter waits until the first one has arrived."""

    def drive(site: Site) -> tuple[str, int]:
        chunks = site.streamed()
        text = next(chunks).choices[0].text
        site.engine.gate.set()
        text += "".join(one.choices[0].text for one in chunks)
        return text, site.engine.num_late

    call = served(drive, STREAM, engine={"gated_at": {2}})

    grade.assert_equal(call, ("a fox", 0))


def test_task_5_streams_several_prompts_by_index(grade: Grader) -> None:
    """Piece by piece of each: nobody waits until another one has ended."""

    def drive(site: Site) -> tuple[dict[int, str], bool]:
        texts, order = {0: "", 1: ""}, list[int]()
        for chunk in site.complete(prompt=["x", "y"], stream=True):
            texts[chunk.choices[0].index] += chunk.choices[0].text
            order.append(chunk.choices[0].index)
        return texts, order != sorted(order)

    engine = {"texts": {"y": "a long tale"}, "step_s": 0.002}
    call = served(
        drive, COMPLETE.replace('"Hi"', '["x", "y"], stream=True'), engine=engine
    )

    grade.assert_equal(call, ({0: "a fox", 1: "a long tale"}, True))


def test_task_5_streams_log_probabilities(grade: Grader) -> None:
    def drive(site: Site) -> tuple[list[str], list[float | None], str]:
        chunks = site.complete(stream=True, echo=True, logprobs=1, max_tokens=2)
        found = [one.choices[0].logprobs for one in chunks]
        tokens = [token for one in found if one for token in one.tokens]
        numbers = [number for one in found if one for number in one.token_logprobs]
        return tokens, numbers, "".join(one.choices[0].text for one in chunks)

    more = ", stream=True, echo=True, logprobs=1, max_tokens=2)"
    call = served(drive, COMPLETE.replace(")", more))

    grade.assert_equal(call, ([*"Hia "], [None, -0.2, -0.1, -0.11], "Hia "))


@pytest.mark.parametrize(
    ("more", "error"),
    [
        ({"n": 3}, "BadRequestError"),
        ({"model": "gpt"}, "NotFoundError"),
        ({"messages": [{"role": "user", "content": "x" * 99}]}, "BadRequestError"),
    ],
)
def test_task_5_an_error_before_the_stream_has_a_status(
    grade: Grader, more: dict[str, Any], error: str
) -> None:
    """Once the head of a stream is sent, it is 200 for ever."""

    def drive(site: Site) -> str | None:
        return site.refused(lambda: site.chat(stream=True, **more)).get("error")

    grade.assert_equal(served(drive, asked_wrongly({**more, "stream": True})), error)


def test_task_5_an_error_later_is_an_event(grade: Grader) -> None:
    """The client raises it, after it has handed out what came before."""

    def drive(site: Site) -> tuple[str, str, bool]:
        text = ""

        def read() -> None:
            nonlocal text
            for chunk in site.streamed():
                text += chunk.choices[0].text

        error = site.refused(read).get("error", "")
        return text, error, site.complete(max_tokens=1).choices[0].text == "a"

    call = served(drive, STREAM, engine={"fails_at": 2}, is_raised=False)

    grade.assert_equal(call, ("a ", "APIError", True))


@pytest.mark.parametrize("has_begun", [True, False])
def test_task_5_who_leaves_aborts(grade: Grader, has_begun: bool) -> None:
    """Within a step, also while the first piece is still waiting for its turn."""

    def drive(site: Site) -> tuple[bool, int, bool]:
        body = {"prompt": ["x", "y"], "stream": True, "max_tokens": 90}
        with site.leaving(**body) as connection:
            site.waits_until(lambda: len(site.engine.heard) == 2)
            if has_begun:
                connection.recv(1000)
        is_late = not site.waits_until(lambda: not site.engine.has_work, 0.5)
        num_said = max(one.num_said for one in site.engine.heard)
        return is_late, len(site.engine.aborted), num_said < 50

    engine = {**SLOW, "num_silent": 0 if has_begun else 200}
    call = served(drive, f"{STREAM}, then hang up", engine=engine)

    grade.assert_equal(call, (False, 2, True))


@pytest.mark.parametrize("leaves", [True, False])
def test_task_5_a_stream_gives_its_place_back(grade: Grader, leaves: bool) -> None:
    """When it has ended, and when its client has left."""

    def drive(site: Site) -> tuple[int, list[str]]:
        if leaves:
            with site.leaving(stream=True, max_tokens=90) as connection:
                connection.recv(1000)
        else:
            site.post(stream=True)
        site.waits_until(lambda: not site.gate.num_open)
        return site.gate.num_open, site.tally.reasons

    shown = f"{STREAM}, then hang up" if leaves else STREAM
    call = served(drive, shown, engine=SLOW if leaves else {}, places=1)

    grade.assert_equal(call, (0, ["abort" if leaves else "stop"]))
