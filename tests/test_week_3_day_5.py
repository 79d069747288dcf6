"""Week 3, day 5: an engine that turns many requests into text.

The chapter: book/en/week-3-day-5-engine.md
"""

import re
from dataclasses import replace
from typing import Any

import mlx.core as mx
import numpy as np
import pytest

from tiny_llm_course.catalogue import say
from tiny_llm_course.grading.judgement.grader import Grader
from tiny_llm_course.grading.judgement.inputs import each_dtype, normal
from tiny_llm_course.grading.scenarios.answering import (
    ENGINE,
    ByHand,
    Job,
    Scoring,
    answering,
    reporting,
)
from tiny_llm_course.grading.scenarios.architecture import Architecture, model_weights
from tiny_llm_course.grading.scenarios.draws import (
    PROCESSORS,
    SAMPLER,
    Draws,
    Logprobs,
    OfTokens,
    Refused,
    WithParams,
)
from tiny_llm_course.grading.scenarios.fakes import ids_of
from tiny_llm_course.grading.scenarios.languages import Language
from tiny_llm_course.grading.scenarios.streams import STREAM, EverySplit, Streamed
from tiny_llm_course.oracle import streaming
from tiny_llm_course.oracle.cached import logits, sampler
from tiny_llm_course.oracle.sampler import repeated_rows

LOGPROBS = "sampler.token_logprobs"

Params = dict[str, Any]


def _bytes_of(text: str | bytes) -> tuple[bytes, ...]:
    """Return a text as tokens of one byte."""
    whole = text.encode() if isinstance(text, str) else text
    return tuple(bytes([one]) for one in whole)


@pytest.mark.parametrize(
    "tokens",
    [
        (b"Once", b" upon", b" a", b" time"),
        (b" Once", b" upon"),
        (b" ", b"Once", b"\n", b"\n", b" "),
        _bytes_of("€ = 7.8 元"),
        _bytes_of("a😀b"),
        _bytes_of("👩‍👩‍👧 é"),
        (b"so ", "😀".encode()[:1], "😀".encode()[1:3], "😀".encode()[3:] + b"!"),
        _bytes_of("= 7.8 元".encode()[:-1]),
        _bytes_of("a😀".encode()[:-1]),
        (),
    ],
    ids=repr,
)
def test_task_1_shows_characters_as_soon_as_they_are_complete(
    grade: Grader, tokens: tuple[bytes, ...]
) -> None:
    """No half of one, none late, and none lost at the end."""
    call = Streamed(STREAM, (), tokens=tokens)

    grade.assert_equal(call, streaming.shown(tokens, ()))


def test_task_1_tokens_may_end_within_the_next_character(grade: Grader) -> None:
    """Whether the character before it is shown at once is left open."""
    tokens = (b"a\xe7\x8b", b"\x90\xe7", b"\x8b\xb8", b"b\xe7")

    call = Streamed(STREAM, (), tokens=tokens, part="result")

    grade.assert_equal(call, streaming.result(tokens, ()))


@pytest.mark.parametrize(
    "text",
    [b"a\xff\xffb", "a😀".encode()[:-2] + b"b", "what is \ufffd ? ", b"\x80\x80"],
    ids=repr,
)
def test_task_1_text_is_that_of_all_tokens_together(
    grade: Grader, text: bytes | str
) -> None:
    """Bytes that never become a character are decoded as in the whole."""
    tokens = _bytes_of(text)

    call = Streamed(STREAM, (), tokens=tokens, part="result")

    grade.assert_equal(call, streaming.result(tokens, ()))


def test_task_1_text_goes_on_after_bytes_that_are_no_character(grade: Grader) -> None:
    """The sign for them is not at the end any more."""
    call = Streamed(STREAM, (), tokens=_bytes_of(b"a\xffbcd"))

    grade.assert_equal(call, ["a", "", "\ufffdb", "c", "d", ""])


@pytest.mark.parametrize("text", ["Once upon", " 7.8 元", b"a\xf0\x9f"], ids=repr)
def test_task_1_keeps_the_whole_text(grade: Grader, text: str | bytes) -> None:
    tokens = _bytes_of(text)

    call = Streamed(STREAM, (), tokens=tokens, part="text")

    grade.assert_equal(call, streaming.result(tokens, ())[0])


@pytest.mark.parametrize(
    ("text", "stop"),
    [
        ("one END two", ("END",)),
        ("EEND two", ("END",)),
        ("one EN", ("END",)),
        ("one EN two EN", ("END",)),
        ("aab", ("aaab",)),
        ("aaaab!", ("aaab",)),
        ("abababc!", ("ababc",)),
        ("one\n\n", ("\n\n",)),
        ("END", ("END",)),
        ("abcd!", ("bcd", "c")),
        ("abcd!", ("bcd", "cd")),
        ("abcd!", ("cd", "bcd")),
        ("abx", ("abcd", "bxy", "q")),
        ("so 元。狐", ("。",)),
        ("a元狐b", ("元狸", "狐b")),
        ("nothing", ("END", "\n")),
        ("no text", ()),
    ],
)
def test_task_2_shows_all_that_cannot_become_a_stop_text(
    grade: Grader, text: str, stop: tuple[str, ...]
) -> None:
    """And nothing that may, until it is clear that it does not."""
    tokens = _bytes_of(text)

    call = Streamed(STREAM, stop, tokens=tokens)

    grade.assert_equal(call, streaming.shown(tokens, stop))


@pytest.mark.parametrize(
    ("text", "stop"),
    [
        ("a END b", ("END",)),
        ("a END b", ("b", "END")),
        ("abcdefg", ("cde", "d")),
        ("abcdefg", ("d", "cde")),
        ("abcdefg", ("ef", "def", "cde")),
        ("aaab", ("aab",)),
        ("a\n\nb", ("\n\n", "\n")),
        ("7 元。狐", ("。",)),
        ("x😀y", ("😀",)),
        ("one EN", ("END",)),
        ("one END", ("END",)),
    ],
)
def test_task_2_result_does_not_depend_on_how_a_text_is_cut(
    grade: Grader, text: str, stop: tuple[str, ...]
) -> None:
    """A stop text may begin, or end, in the middle of a token."""
    call = EverySplit(STREAM, stop, text=text)

    grade.assert_equal(call, [streaming.result([text.encode()], stop)])


@pytest.mark.parametrize("tokens", [_bytes_of("one END"), (b"one END",)], ids=repr)
def test_task_2_keeps_the_text_up_to_the_stop_text(
    grade: Grader, tokens: tuple[bytes, ...]
) -> None:
    """Also what stands before it in the same token."""
    call = Streamed(STREAM, ("END",), tokens=tokens, part="text")

    grade.assert_equal(call, "one ")


def test_task_2_an_empty_stop_text_is_refused(grade: Grader) -> None:
    """It stands at the beginning of every text."""
    call = Streamed(STREAM, ("END", ""), tokens=(b"a",), part="refusal")

    grade.assert_that(
        grade.run(call), call, say("week_3_day_5.complaints.accepted_empty_stop")
    )


@each_dtype
@pytest.mark.parametrize(
    "params",
    [
        {},
        {"repetition_penalty": 1.7},
        {"repetition_penalty": 0.6},
        {"presence_penalty": 0.75},
        {"frequency_penalty": 0.5},
        {"presence_penalty": -1.0, "frequency_penalty": -0.25},
        {"logit_bias": {3: 2.5, 0: -100.0, 10: 1.0}},
        {
            "repetition_penalty": 1.5,
            "presence_penalty": 0.75,
            "frequency_penalty": 0.5,
            "logit_bias": {3: 2.5, 4: -1.0},
        },
    ],
    ids=lambda params: ", ".join(params) or "none",
)
def test_task_3_changes_logits_as_the_formula_says(
    grade: Grader, params: Params, dtype: mx.Dtype
) -> None:
    """Some tokens stand in the prompt only, some in the output, often, or in both."""
    scores, prompt, output = (
        normal(11, scale=3, dtype=dtype),
        [0, 1, 2, 2],
        [2, 4, 4, 10],
    )

    call = WithParams(PROCESSORS, (scores, prompt, output), params=params)

    truth = logits.processed(scores, prompt, output, params)
    grade.assert_close(call, truth, dtype)


@pytest.mark.parametrize(
    "params",
    [
        {"repetition_penalty": 1.7},
        {"presence_penalty": 0.75, "frequency_penalty": 0.5},
    ],
    ids=str,
)
def test_task_3_there_may_be_no_output_yet(grade: Grader, params: Params) -> None:
    """The first token is chosen after the prompt alone."""
    scores, prompt = normal(9, scale=3), [1, 5, 5]

    call = WithParams(PROCESSORS, (scores, prompt, list[int]()), params=params)

    grade.assert_close(call, logits.processed(scores, prompt, [], params), mx.float32)


@pytest.mark.parametrize("token", [11, 1000000, -1])
def test_task_3_a_bias_for_no_token_is_refused(grade: Grader, token: int) -> None:
    """It would be written somewhere else in memory."""
    params = {"logit_bias": {3: 1.0, token: 1.0}}
    call = Refused(PROCESSORS, (normal(11), [1], [2]), params=params)

    complaint = say("week_3_day_5.complaints.accepted_bias", token=token)
    grade.assert_that(grade.run(call), call, complaint)


@each_dtype
@pytest.mark.parametrize("shape", [(1, 7), (4, 258)], ids=str)
@pytest.mark.parametrize("scale", [1.0, 30.0])
def test_task_4_log_probabilities_agree_with_log_softmax(
    grade: Grader, shape: tuple[int, int], scale: float, dtype: mx.Dtype
) -> None:
    scores = normal(*shape, scale=scale, dtype=dtype)
    tokens = [place * 2 for place in range(shape[0])]

    call = OfTokens(LOGPROBS, (scores, tokens, 2))

    grade.assert_close(call, logits.token_logprobs(scores, tokens), mx.float32)


def test_task_4_log_probabilities_name_their_tokens(grade: Grader) -> None:
    call = OfTokens(LOGPROBS, (normal(3, 9), [4, 0, 8], 1), part="tokens")

    grade.assert_equal(call, [4, 0, 8])


def test_task_4_the_number_of_a_token_is_the_same_among_the_likeliest(
    grade: Grader,
) -> None:
    """Evaluations compare the two by `!=`."""
    scores = normal(40, 30, scale=3)
    tokens = np.argmax(np.array(scores), axis=-1).tolist()

    call = OfTokens(LOGPROBS, (scores, tokens, 1), part="same")

    grade.assert_equal(call, [True] * 40)


@pytest.mark.parametrize("num_top", [0, 2])
def test_task_4_log_probabilities_can_be_sent(grade: Grader, num_top: int) -> None:
    """JSON has the numbers of Python, and none of NumPy or MLX."""
    call = OfTokens(LOGPROBS, (normal(3, 9), [4, 0, 8], num_top), part="in_json")

    grade.assert_that(grade.run(call), call, say("week_3_day_5.complaints.not_json"))


@pytest.mark.parametrize("num_top", [0, 1, 3, 9, 20])
def test_task_4_the_likeliest_tokens_come_in_order(grade: Grader, num_top: int) -> None:
    """As many as are asked for, and all if that is more than there are."""
    scores = normal(3, 9)
    order = np.argsort(-np.array(scores), axis=-1)

    call = OfTokens(LOGPROBS, (scores, [4, 0, 8], num_top), part="top")

    grade.assert_equal(call, order[:, :num_top].tolist())


def test_task_4_the_likeliest_tokens_have_their_log_probabilities(
    grade: Grader,
) -> None:
    scores = normal(1, 9)
    order = np.argsort(-np.array(scores[0]))[:4].tolist()

    call = OfTokens(LOGPROBS, (scores, [2], 4), part="of_top")

    truth = logits.token_logprobs(mx.repeat(scores, 4, axis=0), order)
    truth = replace(truth, value=truth.value[None], scale=truth.scale[None])
    grade.assert_close(call, truth, mx.float32)


@pytest.mark.parametrize(
    "params",
    [
        {"temperature": 0.0},
        {"temperature": 0.1, "top_k": 1},
        {"temperature": 5.0, "top_p": 0.01},
        {"logit_bias": {0: 100.0}},
    ],
    ids=str,
)
def test_task_4_takes_the_likeliest_token(grade: Grader, params: Params) -> None:
    """Of the changed logits."""
    row = normal(1, 9)
    likeliest = 0 if "logit_bias" in params else int(np.argmax(np.array(row)))

    call = Draws(SAMPLER, (row,), params=params, num_calls=3)

    grade.assert_equal(call, [[likeliest]] * 3)


def test_task_4_penalties_are_for_what_was_drawn(grade: Grader) -> None:
    """And not for the prompt, which is token 0."""
    row = mx.array([[5.0, 4.0, 3.0, 2.0]])

    call = Draws(SAMPLER, (row,), params={"presence_penalty": 100.0}, num_calls=3)

    grade.assert_equal(call, [[0], [1], [2]])


@pytest.mark.parametrize(
    ("params", "kept"),
    [
        ({"temperature": 1.0}, {0, 1, 2, 3, 4}),
        ({"temperature": 0.4}, {0, 1, 2, 3, 4}),
        ({"temperature": 1.0, "top_k": 3}, {1, 3, 4}),
        ({"temperature": 2.0, "top_p": 0.6}, {1, 3}),
        ({"temperature": 1.0, "top_p": 0.0}, {0, 1, 2, 3, 4}),
        ({"temperature": 1.0, "top_k": 3, "top_p": 0.8}, {1, 3}),
    ],
    ids=str,
)
def test_task_4_draws_as_the_sampler_of_week_1(
    grade: Grader, params: Params, kept: set[int]
) -> None:
    rows = [[0.1, 0.4, 0.05, 0.3, 0.15]]

    scores = repeated_rows(rows)
    call = Draws(SAMPLER, (scores,), params={"seed": 7} | params, num_calls=3)

    grade.assert_drawn(call, sampler.shares(rows, params["temperature"], [kept]))


@pytest.mark.parametrize("logprobs", [0, 2], ids=str)
@pytest.mark.parametrize(
    "params",
    [
        {"temperature": 0.3, "seed": 1},
        {"repetition_penalty": 3.0, "presence_penalty": 2.0},
        {"logit_bias": {5: 100.0}},
        {"temperature": 1.0, "top_k": 1},
    ],
    ids=str,
)
def test_task_4_log_probabilities_are_those_of_the_model(
    grade: Grader, params: Params, logprobs: int
) -> None:
    """Whatever is done to the logits before a token is drawn."""
    row, given = normal(9, scale=2), ([0, 1], [2, 2])
    params = params | {"logprobs": logprobs}
    chosen = WithParams(SAMPLER, (row, *given), params=params)
    token = grade.run(chosen).token

    call = Logprobs(SAMPLER, (row, *given), params=params)

    grade.assert_close(call, logits.token_logprobs(row[None], [token]), mx.float32)


@pytest.mark.parametrize(("logprobs", "is_told"), [(None, False), (0, True)])
def test_task_4_reports_log_probabilities_when_asked(
    grade: Grader, logprobs: int | None, is_told: bool
) -> None:
    """0 asks for the token's own."""
    params = {"logprobs": logprobs}

    call = Logprobs(SAMPLER, (normal(9), [0], [1]), params=params, part="report")

    grade.assert_equal(call, is_told)


_DRAWN = {"temperature": 1.0, "seed": 7}


@pytest.mark.parametrize(
    ("others", "disturbed"),
    [
        (({"temperature": 1.0, "seed": 8},), False),
        (({"temperature": 1.0, "seed": 7},), False),
        (({"temperature": 1.0},) * 2, False),
        ((), True),
    ],
    ids=["another", "same seed", "without a seed", "seed of MLX"],
)
def test_task_4_draws_the_same_whoever_else_draws(
    grade: Grader, others: tuple[Params, ...], disturbed: bool
) -> None:
    alone = Draws(SAMPLER, (normal(1, 50),), params=_DRAWN, num_calls=12)
    expected = grade.run(alone)

    call = replace(alone, others=others, disturbed=disturbed)

    grade.assert_equal(call, expected)


@pytest.mark.parametrize(
    ("first", "second", "disturbed"),
    [(7, 8, False), (None, None, False), (None, None, True)],
    ids=["two seeds", "no seed", "seed of MLX"],
)
def test_task_4_draws_something_else_with_another_seed(
    grade: Grader, first: int | None, second: int | None, disturbed: bool
) -> None:
    """And without one, each time."""
    call = Draws(
        SAMPLER,
        (normal(1, 50),),
        params=_DRAWN | {"seed": first},
        num_calls=12,
        disturbed=disturbed,
    )
    before = grade.run(call)

    call = replace(call, params=_DRAWN | {"seed": second}, disturbed=True)

    is_same = grade.run(call) == before
    complaint = say("week_3_day_5.complaints.same_draws")
    grade.assert_that(not is_same, call, complaint)


def test_task_4_draws_anew_for_each_token(grade: Grader) -> None:
    call = Draws(SAMPLER, (mx.zeros((1, 50)),), params=_DRAWN, num_calls=12)

    ids = {one for row in grade.run(call) for one in row}
    complaint = say("week_3_day_5.complaints.repeats")
    grade.assert_that(len(ids) > 3, call, complaint)


ONE = {"max_num_seqs": 1}
SMALL = {
    "page_size": 4,
    "num_pages": 12,
    "max_num_batched_tokens": 6,
    "max_num_seqs": 3,
}
"""Prompts come in pieces, and requests wait, or lose their pages."""

each_room = pytest.mark.parametrize("named", [{}, SMALL], ids=["roomy", "small"])

TALE = (
    Job("Once", " upon a time"),
    Job("7 €", " = 7.8 元", comes=2),
    Job("a fox ", "狐狸 😀", comes=3),
    Job("an owl", "", comes=3),
    Job("Who?", " I.", comes=9),
)
BABBLE = {"temperature": 1.0, "max_tokens": 14}


@pytest.mark.parametrize("named", [{}, ONE, SMALL], ids=["roomy", "one", "small"])
@pytest.mark.parametrize("part", ["text", "ending"])
def test_task_5_each_request_gets_its_own_answer(
    grade: Grader, named: Params, part: str
) -> None:
    """However many there are, and whenever they come."""
    call = answering(*TALE, named=named, part=part)

    right = [one.answer if part == "text" else "stop" for one in TALE]
    grade.assert_equal(call, right)


@pytest.mark.parametrize(
    ("part", "right"),
    [
        ("pieces", [[" ", "u", "p", "o", "n", ""], ["", "", "元", ""]]),
        ("tokens", [list(b" upon"), list("元".encode())]),
        ("counts", [(4, 5), (5, 3)]),
        ("reasons", [["stop"], ["stop"]]),
        ("error", [None, None]),
        ("cached", [0, 0]),
    ],
)
def test_task_5_tells_what_each_step_brings(
    grade: Grader, part: str, right: list[Any]
) -> None:
    """One output for each token, and one for the end token, which is not shown."""
    jobs = (Job("Once", " upon"), Job("7 €", "元"))

    grade.assert_equal(answering(*jobs, part=part), right)


@pytest.mark.parametrize("part", ["text", "ending", "counts"])
@pytest.mark.parametrize(
    ("job", "told"),
    [
        (Job("Once", " upon a time", {"max_tokens": 5}), (" upon", "length", 5)),
        (Job("Once", "€ = 7.8 元", {"max_tokens": 2}), ("\ufffd", "length", 2)),
        (Job("Once", " upon a time", {"stop": ("on a",)}), (" up", "stop", 7)),
        (
            Job("Once", " upon a time", {"stop": ("x", "on a"), "max_tokens": 7}),
            (" up", "stop", 7),
        ),
        (
            Job("Once", " upon a time", {"stop": ("on b",), "max_tokens": 6}),
            (" upon ", "length", 6),
        ),
        (
            Job("Once", " upon a time", {"stop": ("times",)}),
            (" upon a time", "stop", 12),
        ),
        (Job("Once", "it is 元。", {"stop": ("。",)}), ("it is 元", "stop", 12)),
        (
            Job("Once", "ab", {"ignore_end": True, "max_tokens": 4}),
            ("ab<end>?", "length", 4),
        ),
    ],
)
def test_task_5_ends_where_the_parameters_say(
    grade: Grader, job: Job, told: tuple[str, str, int], part: str
) -> None:
    """At a stop text, which is no part of the text, or after `max_tokens` tokens."""
    text, ending, num_tokens = told
    right = {"text": [text], "ending": [ending], "counts": [(4, num_tokens)]}

    grade.assert_equal(answering(job, part=part), right[part])


def test_task_5_the_tokens_of_a_stop_text_are_told(grade: Grader) -> None:
    """They are no part of the text, but only an end token is told as None."""
    call = answering(Job("Once", " upon a time", {"stop": ("on a",)}), part="tokens")

    grade.assert_equal(call, [list(b" upon a")])


@pytest.mark.parametrize("part", ["text", "ending"])
def test_task_5_a_stop_text_ends_one_request_only(grade: Grader, part: str) -> None:
    jobs = (
        Job("a:", "one END two", {"stop": ("END",)}),
        Job("b:", "one END two"),
        Job("c:", "one END two", {"stop": ("two",)}, comes=4),
    )
    right = {"text": ["one ", "one END two", "one END "], "ending": ["stop"] * 3}

    grade.assert_equal(answering(*jobs, part=part), right[part])


@pytest.mark.parametrize(
    "others",
    [
        (Job("b", params=BABBLE | {"seed": 7}),),
        (Job("b", params=BABBLE | {"seed": 8}), Job("c", params=BABBLE, comes=3)),
    ],
    ids=["same seed", "others"],
)
@each_room
def test_task_5_a_seed_draws_the_same_whoever_else_runs(
    grade: Grader, others: tuple[Job, ...], named: Params
) -> None:
    """Each request has random numbers of its own."""
    job = Job("a fox", params=BABBLE | {"seed": 7})
    alone = answering(job, part="tokens")
    expected = grade.run(alone)

    call = replace(alone, jobs=(*others, job), named=named, only=(len(others),))

    grade.assert_equal(call, expected)


def test_task_5_draws_are_those_of_one_sampler_for_each_request(
    grade: Grader,
) -> None:
    """It is called once for each token, and goes on with its random numbers."""
    job = Job("a fox", params=BABBLE | {"seed": 7, "frequency_penalty": 1.0})
    right = grade.run(ByHand(SAMPLER, (), job=job))

    call = answering(job, Job("b", " upon"), part="tokens", only=(0,))

    grade.assert_equal(call, [right])


def test_task_5_requests_without_a_seed_differ(grade: Grader) -> None:
    job = Job("a fox", params=BABBLE)
    call = answering(job, replace(job, name="z"), part="tokens", named=ONE)

    first, second = grade.run(call)
    complaint = say("week_3_day_5.complaints.same_draws")
    grade.assert_that(first != second, call, complaint)


@pytest.mark.parametrize(
    ("part", "right"),
    [("text", [" up", " upon a time", ""]), ("was_there", [True, None, True])],
)
def test_task_5_an_aborted_request_tells_nothing_more(
    grade: Grader, part: str, right: list[Any]
) -> None:
    """Whether it runs or waits."""
    jobs = (
        Job("a:", " upon a time", leaves=3),
        Job("b:", " upon a time"),
        Job("c:", " upon a time", leaves=2),
    )
    call = answering(*jobs, named={"max_num_seqs": 2}, part=part)

    grade.assert_equal(call, right)


def test_task_5_nothing_is_computed_for_who_was_aborted(grade: Grader) -> None:
    """Of " upon a time" three letters; of the other request everything."""
    jobs = (Job("a:", " upon a time", leaves=3), Job("b:", " upon a time"))
    call = answering(*jobs, part="computed")

    most = len("a: u") + len("b: upon a time")
    computed = grade.run(call)
    told = say("week_3_day_5.complaints.for_nobody", computed=computed, most=most)
    grade.assert_that(computed <= most, call, told)


def test_task_5_abort_says_when_there_is_no_such_request(grade: Grader) -> None:
    jobs = (Job("a:", "x", leaves=6), Job("b:", " upon a time"))

    grade.assert_equal(answering(*jobs, part="was_there"), [False, None])


@pytest.mark.parametrize(
    "jobs",
    [
        TALE,
        (Job("a:", " upon a time", leaves=4), Job("b:", " upon")),
        (Job("a:", " upon", {"stop": ("o",)}), Job("b:", " upon", {"max_tokens": 2})),
        (Job("a:", " upon", {"stop": ("o",), "max_tokens": 4}),),
    ],
    ids=["end token", "abort", "stop and length", "both at once"],
)
def test_task_5_nothing_is_left_in_the_end(
    grade: Grader, jobs: tuple[Job, ...]
) -> None:
    call = answering(*jobs, part="left", named=SMALL)

    grade.assert_equal(call, (0, 0, 0))


@pytest.mark.parametrize(("rows", "tokens"), [(1, 1), (2, 5), (8, 256)])
def test_task_5_steps_are_as_large_as_they_may_be(
    grade: Grader, rows: int, tokens: int
) -> None:
    named = {"max_num_seqs": rows, "max_num_batched_tokens": tokens}
    call = answering(*TALE, named=named, part="load")

    most_rows, most_tokens = grade.run(call)
    told = say("week_3_day_5.complaints.too_much", rows=most_rows, tokens=most_tokens)
    grade.assert_that(most_rows <= rows and most_tokens <= tokens, call, told)


@pytest.mark.parametrize(("named", "num_pages"), [(SMALL, 12), ({}, 512)], ids=str)
def test_task_5_has_the_pages_that_it_was_given(
    grade: Grader, named: Params, num_pages: int
) -> None:
    grade.assert_equal(answering(*TALE, named=named, part="room"), num_pages)


def test_task_5_shows_its_tokenizer(grade: Grader) -> None:
    """A server has only the engine, and encodes what its clients send."""
    grade.assert_equal(answering(*TALE, part="shows_tokenizer"), True)


def test_task_5_requests_that_share_pages_do_not_disturb_each_other(
    grade: Grader,
) -> None:
    """Of three pages of four tokens the first two are shared, the third is not."""
    jobs = (
        Job("0123456789ab", " and then some more"),
        Job("0123456789cd", " another", comes=2),
    )
    call = answering(*jobs, named={"page_size": 4})

    grade.assert_equal(call, [" and then some more", " another"])


@pytest.mark.parametrize(
    "named", [{}, {"max_num_seqs": 3, "max_num_batched_tokens": 4}], ids=str
)
def test_task_5_tells_how_much_of_a_prompt_was_in_memory(
    grade: Grader, named: Params
) -> None:
    """Of 10 tokens in pages of 4, two pages are full, and one token is computed."""
    prompt = "0123456789"
    jobs = (
        Job(prompt, "yes"),
        Job(prompt, "yes", comes=8, name="again"),
        Job(prompt[:8], "no", comes=8),
    )
    call = answering(*jobs, named={"page_size": 4} | named, part="cached")

    grade.assert_equal(call, [0, 8, 4])


@pytest.mark.parametrize(
    ("named", "length"),
    [
        ({"context": 20}, 20),
        ({"context": 20}, 300),
        ({"num_pages": 5, "page_size": 4}, 20),
        ({"context": 64, "num_pages": 5, "page_size": 4}, 33),
    ],
    ids=str,
)
def test_task_5_a_prompt_that_can_never_fit_is_refused(
    grade: Grader, named: Params, length: int
) -> None:
    """The message names what it has and what fits; all others are answered."""
    long = Job("x" * length, may_be_refused=True, params={"max_tokens": 2})
    call = answering(Job("Once", " upon"), long, named=named, part="refusal")

    refusal = grade.run(call)[1]
    told = say("week_3_day_5.complaints.not_refused", length=length)
    grade.assert_that(refusal is not None, call, told)
    numbers = {int(one) for one in re.findall(r"\d+", refusal)}
    told = say("week_3_day_5.complaints.numbers", refusal=refusal, length=length)
    grade.assert_that(length in numbers and bool({19, 20} & numbers), call, told)


@pytest.mark.parametrize("part", ["text", "ending", "counts"])
def test_task_5_goes_on_as_long_as_there_is_room(grade: Grader, part: str) -> None:
    """Prompt and answer together may fill the context, and no more."""
    jobs = (Job("0123456789abcde", " upon a time"), Job("0123456789abcdefghi", "xyz"))
    right = {
        "text": [" upon", "x"],
        "ending": ["length", "length"],
        "counts": [(15, 5), (19, 1)],
    }
    call = answering(*jobs, named={"context": 20}, part=part)

    grade.assert_equal(call, right[part])


@pytest.mark.parametrize(
    "job",
    [
        Job("b:", "x", name="a"),
        Job("", "x"),
        Job("b:", "x", {"max_tokens": 0}),
        Job("b:", "x", {"stop": ("",)}),
    ],
    ids=["id in use", "empty prompt", "no tokens", "empty stop text"],
)
def test_task_5_refuses_what_cannot_be_answered(grade: Grader, job: Job) -> None:
    jobs = (Job("a:", " upon a time"), replace(job, comes=1, may_be_refused=True))
    call = answering(*jobs, part="refusal")

    refusal = grade.run(call)[1]
    told = say("week_3_day_5.complaints.accepted")
    grade.assert_that(refusal is not None, call, told)


def test_task_5_an_id_can_be_used_again(grade: Grader) -> None:
    """As soon as its request has ended, or was aborted."""
    jobs = (
        Job("a:", "one", name="x"),
        Job("b:", "two two", name="x", comes=6, leaves=9),
        Job("c:", "three", name="x", comes=10),
    )
    call = answering(*jobs, only=(0, 2))

    grade.assert_equal(call, ["one", "three"])


PROMPT = "It is 7 € and a fox"


def _language_logits(prompt: str) -> tuple[mx.array, list[int]]:
    """Return the logits before each token of a prompt but the first, and its tokens."""
    ids = ids_of(prompt)
    language = Language({prompt: None})
    rows = [language.logits(ids[:place]) for place in range(1, len(ids))]
    return mx.array(np.array(rows)), ids[1:]


ASKED = {"prompt_logprobs": True, "logprobs": 1, "max_tokens": 1}
each_way_to_compute = pytest.mark.parametrize(
    ("earlier", "named"),
    [
        ((), {}),
        ((), SMALL),
        ((Job(PROMPT, name="before", params={"max_tokens": 1}),), {"page_size": 4}),
    ],
    ids=["at once", "in pieces", "known"],
)


@each_way_to_compute
@pytest.mark.parametrize("length", [21, 13], ids=["long", "one token over"])
def test_task_6_reports_the_log_probabilities_of_a_prompt(
    grade: Grader, earlier: tuple[Job, ...], named: Params, length: int
) -> None:
    """Also if it is computed in pieces, and if its pages are in memory."""
    prompt = PROMPT.encode()[:length].decode()
    job = Job(prompt, params=ASKED, comes=4 * len(earlier))
    call = reporting(*earlier, job, named=named, only=(len(earlier),))

    truth = logits.token_logprobs(*_language_logits(prompt))
    grade.assert_close(call, truth, mx.float32)


@pytest.mark.parametrize("of", ["tokens", "same"])
def test_task_6_a_harness_can_compare_the_numbers_of_a_prompt(
    grade: Grader, of: str
) -> None:
    """It asks whether a token is the likeliest, by `!=` of two numbers."""
    jobs = (Job("Once", " upon a time"), Job("Once upon a", params=ASKED))
    call = reporting(*jobs, of=of, only=(1,))

    right = ids_of("nce upon a") if of == "tokens" else [True] * len(" upon a")
    grade.assert_equal(call, right)


@each_room
def test_task_6_log_probabilities_of_a_prompt_agree_with_transformers(
    grade: Grader, named: Params
) -> None:
    """With a real model, whose `run_pieces` nobody has to name."""
    sizes = Architecture()
    weights = model_weights(sizes, mx.float32)
    prompts = ((3, 1, 4, 1, 5, 9, 2, 6), (5, 3, 5), (8, 9, 7, 9, 3))

    call = Scoring(ENGINE, (weights, sizes), named=named, prompts=prompts)

    grade.assert_close(call, logits.of_prompts(prompts, weights, sizes), mx.float32)


@pytest.mark.parametrize("prompt", ["Once", "I"])
@pytest.mark.parametrize("answer", [" upon", ""], ids=["answer", "nothing"])
@pytest.mark.parametrize(
    ("params", "num_told"), [({}, 0), ({"prompt_logprobs": True}, 1)], ids=str
)
def test_task_6_reports_a_prompt_once_and_when_asked(
    grade: Grader, params: Params, num_told: int, answer: str, prompt: str
) -> None:
    """With the first output, be it the end token alone.

    The first token of a prompt is predicted by nothing.
    """
    job = Job(prompt, answer, params)
    call = answering(job, part="prompt_reports")

    grade.assert_equal(call, [[[0, len(prompt), True]][:num_told]])


def test_task_6_log_probabilities_of_the_answer_are_those_of_the_model(
    grade: Grader,
) -> None:
    """Before penalties, temperature and draws."""
    params = BABBLE | {"seed": 3, "logprobs": 2, "presence_penalty": 1.0}
    job = Job("a fox", params=params | {"temperature": 0.5})
    tokens = grade.run(answering(job, part="tokens"))[0]
    language, seen = Language({"a fox": None}), [*ids_of("a fox"), *tokens]
    rows = [language.logits(seen[:place]) for place in range(5, len(seen))]

    call = reporting(job, part="logprobs")

    truth = logits.token_logprobs(mx.array(np.array(rows)), tokens)
    grade.assert_close(call, truth, mx.float32)


FAILING = (
    Job("Once", " upon a time"),
    Job("a fox", " and an owl", fails_at="a fox and", comes=1),
    Job("an owl", "x", fails_at="an owl", comes=3),
    Job("7 €", " = 7.8 元", comes=3),
    Job("Who?", " I.", comes=12),
)


@each_room
@pytest.mark.parametrize(
    ("part", "right"),
    [
        ("text", [" upon a time", " and", "", " = 7.8 元", " I."]),
        ("ending", ["stop", "error", "error", "stop", "stop"]),
        ("reasons", [["stop"], ["error"], ["error"], ["stop"], ["stop"]]),
    ],
)
def test_task_6_a_row_that_raises_ends_its_request_only(
    grade: Grader, part: str, right: list[Any], named: Params
) -> None:
    """The step is repeated row by row, with what was in memory before it."""
    call = answering(*FAILING, named=named, part=part)

    grade.assert_equal(call, right)


def test_task_6_a_request_that_fails_says_why(grade: Grader) -> None:
    call = answering(*FAILING, part="error")

    errors = grade.run(call)
    why = say("week_3_day_5.complaints.fails_at", text="a fox and")
    told = say("week_3_day_5.complaints.no_reason", got=errors[1], why=why)
    grade.assert_that(why in (errors[1] or ""), call, told)


def test_task_6_a_request_that_fails_is_in_the_log(grade: Grader) -> None:
    """With the traceback, which names the line."""
    call = answering(*FAILING, part="log")

    log = "\n".join(grade.run(call))
    why = say("week_3_day_5.complaints.fails_at", text="a fox and")
    told = say("week_3_day_5.complaints.not_logged", why=why)
    grade.assert_that("Traceback" in log and why in log, call, told)


@each_room
def test_task_6_a_request_that_fails_leaves_no_page(
    grade: Grader, named: Params
) -> None:
    call = answering(*FAILING, named=named, part="left")

    grade.assert_equal(call, (0, 0, 0))


def test_task_6_the_id_of_a_request_that_failed_can_be_used_again(
    grade: Grader,
) -> None:
    jobs = (
        Job("a:", "one", name="x", fails_at="a:"),
        Job("b:", "two", name="x", comes=4),
    )

    grade.assert_equal(answering(*jobs, only=(1,)), ["two"])


def test_task_6_all_rows_of_a_step_may_fail(grade: Grader) -> None:
    jobs = (Job("a", "x", fails_at="a"), Job("b", "x", fails_at="b"), Job("c", "yes"))
    call = answering(*jobs, named={"max_num_seqs": 2}, part="ending")

    grade.assert_equal(call, ["error", "error", "stop"])


@pytest.mark.parametrize(
    ("part", "right"), [("ending", ["error", "stop"]), ("text", ["", " upon a time"])]
)
def test_task_6_a_token_that_cannot_be_chosen_ends_its_request_only(
    grade: Grader, part: str, right: list[str]
) -> None:
    """Such as with a bias for a token that does not exist."""
    jobs = (
        Job("a:", "x", {"logit_bias": {100000: 1.0}}),
        Job("Once", " upon a time"),
    )

    grade.assert_equal(answering(*jobs, part=part), right)


def test_task_6_what_was_held_back_is_told_when_a_request_fails(grade: Grader) -> None:
    job = Job("Once", " upon", {"stop": ("upper",)}, fails_at="Once up")

    grade.assert_equal(answering(job), [" up"])
