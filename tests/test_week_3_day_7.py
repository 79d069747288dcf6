"""Week 3, day 7: who is let in, and what is measured, under load.

The chapter: book/en/week-3-day-7-under-load.md
"""

from typing import Literal

import pytest

from tiny_llm_course.catalogue import say
from tiny_llm_course.grading.judgement.grader import Grader
from tiny_llm_course.grading.scenarios.under_load import (
    IN,
    Come,
    Day,
    Door,
    Drain,
    Ended,
    Event,
    Go,
    Measured,
    Recording,
    Seen,
    Slow,
    Started,
    Step,
    Wait,
)
from tiny_llm_course.oracle.metrics import recorded

ADMISSION = "limits.Admission"
METRICS = "metrics.Metrics"
REQUESTS = "metrics.RequestMetrics"
SAID = "week_3_day_7.complaints"

SERVED: Measured = ("served_total", "counter", "Requests that ended.", ())
OPEN: Measured = ("open_requests", "gauge", "Requests that are open.", ())
TOOK: Measured = ("answer_seconds", "histogram", "Length of answers.", (0.1, 1, 10))


@pytest.mark.parametrize("num_places", [1, 2, 5])
def test_task_1_as_many_are_let_in_as_there_are_places(
    grade: Grader, num_places: int
) -> None:
    steps = (Come(),) * 8

    expected = [IN] * num_places + [429] * (8 - num_places)
    grade.assert_equal(_door(num_places, steps), expected)


def test_task_1_a_place_is_free_again_when_a_request_ends(grade: Grader) -> None:
    steps = (Come(), Come(), Go(), Come(), Come())

    grade.assert_equal(_door(1, steps), [IN, 429, IN, 429])


def test_task_1_a_body_has_one_prompt_when_nothing_is_said(grade: Grader) -> None:
    steps = (Come(None), Come(None), Come(None), Go(None), Come(2), Come(None))

    grade.assert_equal(_door(2, steps), [IN, IN, 429, 429, IN])


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ((Come(2), Come(2), Go(1), Come(2)), [IN, 429, IN]),
        ((Come(3), Come(), Go(3), Come(3)), [IN, 429, IN]),
        ((Come(2), Come(2), Come(), Come()), [IN, 429, IN, 429]),
    ],
    ids=["two of three", "all of three", "two do not fit, one does"],
)
def test_task_1_the_prompts_of_a_body_come_in_together(
    grade: Grader, steps: tuple[Step, ...], expected: list[int]
) -> None:
    """All of them or none: half an answer is of no use."""
    grade.assert_equal(_door(3, steps), expected)


@pytest.mark.parametrize("before", [(), (Come(),)], ids=["empty", "one is open"])
def test_task_1_what_can_never_fit_is_not_asked_to_wait(
    grade: Grader, before: tuple[Step, ...]
) -> None:
    steps = (*before, Come(4))

    grade.assert_equal(_door(3, steps), [*[IN] * len(before), 400])


def test_task_1_who_is_refused_takes_no_place(grade: Grader) -> None:
    steps = (Come(), Come(), Come(3), Come(2), Go(), Drain(), Come(), Come(7))

    call = _door(2, steps, part="open")

    grade.assert_equal(call, [1, 2, 2, 2, 1, 1, 1, 1])


def test_task_1_nobody_is_let_in_while_it_drains(grade: Grader) -> None:
    """Not even where places are free: with 503, for there is no use in waiting."""
    steps = (Come(), Drain(), Come(), Go(), Come(), Come(9))

    grade.assert_equal(_door(3, steps), [IN, 503, 503, 503])


def test_task_1_draining_comes_before_being_full(grade: Grader) -> None:
    steps = (Come(), Come(), Drain(), Come())

    grade.assert_equal(_door(1, steps), [IN, 429, 503])


def test_task_1_those_who_are_in_stay_while_it_drains(grade: Grader) -> None:
    steps = (Come(2), Drain(), Go(), Go())

    grade.assert_equal(_door(2, steps, part="open"), [2, 2, 1, 0])


@pytest.mark.parametrize("gap_s", [0.0, 0.2, 3.0, 900.0])
def test_task_1_those_who_are_refused_learn_when_to_try_again(
    grade: Grader, gap_s: float
) -> None:
    """In whole seconds, one at least, as the header Retry-After has it."""
    steps = (Come(), Come(), *(Wait(gap_s), Go(), Come()) * 2, Come())
    call = _door(1, steps, part="waits")

    waits_s = grade.run(call)

    fits = all(type(one) is int and 1 <= one <= 3600 for one in waits_s)
    complaint = say(f"{SAID}.retry", got=waits_s)
    grade.assert_that(len(waits_s) == 2 and fits, call, complaint)


def test_task_2_a_counter_adds_up(grade: Grader) -> None:
    events = (Event("count", "served_total"), Event("count", "served_total", 2.5))

    _assert_reads(grade, (SERVED,), events)


def test_task_2_a_counter_counts_one_when_nothing_is_said(grade: Grader) -> None:
    _assert_reads(grade, (SERVED,), (Event("count", "served_total", None),) * 3)


def test_task_2_a_counter_keeps_all_its_digits(grade: Grader) -> None:
    """A million tokens are a day's work, and the next one counts as well."""
    events = (Event("count", "served_total", 1_234_567), Event("count", "served_total"))

    _assert_reads(grade, (SERVED,), events)


def test_task_2_a_gauge_is_what_it_was_last_set_to(grade: Grader) -> None:
    events = tuple(Event("set", "open_requests", one) for one in (3, 7, 2))

    _assert_reads(grade, (OPEN,), events)


def test_task_2_what_has_not_happened_is_zero(grade: Grader) -> None:
    """Prometheus cannot tell an absent number from a server that is gone."""
    _assert_reads(grade, (SERVED, OPEN), ())


@pytest.mark.parametrize(
    "values",
    [(0.5,), (0.05, 0.5, 5, 50), (0.01, 0.02, 0.03), (100, 200), (2, 0.2, 2, 20, 0.02)],
    ids=str,
)
def test_task_2_a_bucket_counts_all_that_is_below(
    grade: Grader, values: tuple[float, ...]
) -> None:
    events = tuple(Event("observe", "answer_seconds", one) for one in values)

    _assert_reads(grade, (TOOK,), events)


@pytest.mark.parametrize("value", [0.1, 1, 10])
def test_task_2_a_bound_belongs_to_its_bucket(grade: Grader, value: float) -> None:
    _assert_reads(grade, (TOOK,), (Event("observe", "answer_seconds", value),))


def test_task_2_labels_tell_series_apart(grade: Grader) -> None:
    events = (
        Event("count", "served_total", 1, (("code", "200"), ("path", "/health"))),
        Event("count", "served_total", 3, (("path", "/health"), ("code", "200"))),
        Event("count", "served_total", 5, (("code", "400"), ("path", "/health"))),
    )

    _assert_reads(grade, (SERVED,), events)


def test_task_2_each_series_has_buckets_of_its_own(grade: Grader) -> None:
    events = (
        Event("observe", "answer_seconds", 0.5, (("model", "tiny"),)),
        Event("observe", "answer_seconds", 5, (("model", "large"),)),
        Event("observe", "answer_seconds", 0.7, (("model", "tiny"),)),
    )

    _assert_reads(grade, (TOOK,), events)


@pytest.mark.parametrize(
    "value", ['say "hello"', "back\\slash", "two\nlines", "语言", 'a\\"b\nc', "\\n"]
)
def test_task_2_labels_are_escaped(grade: Grader, value: str) -> None:
    """What a client sends as the name of a model comes back in a label."""
    event = Event("count", "served_total", 1, (("model", value),))

    _assert_reads(grade, (SERVED,), (event,))


def test_task_2_no_count_is_lost_between_threads(grade: Grader) -> None:
    """The engine counts on its thread, and the server on another."""
    events = tuple(Event("count", "served_total", Slow(1)) for _ in range(5))
    call = _recording((SERVED,), events, num_threads=4)

    got = grade.run(call)["served_total"]

    grade.assert_that(got == 20, call, say(f"{SAID}.lost", expected=20, got=got))


@pytest.mark.parametrize("families", [(SERVED,), (SERVED, TOOK, OPEN)], ids=len)
def test_task_2_the_last_line_ends_as_all_others(
    grade: Grader, families: tuple[Measured, ...]
) -> None:
    """Prometheus refuses a text that seems to break off."""
    grade.assert_equal(_recording(families, (), part="end"), "\n")


def test_task_2_a_counter_never_falls(grade: Grader) -> None:
    """Prometheus takes a fall for a restart, and adds all of it again."""
    events = (Event("count", "served_total", 3), Event("count", "served_total", -1))

    _assert_reads(grade, (SERVED,), events)


@pytest.mark.parametrize("reason", ["stop", "length", "abort", "error"])
def test_task_3_each_end_is_counted_as_what_it_is(grade: Grader, reason: str) -> None:
    happens = (Started("a"), Seen("a"), Ended("a", reason))  # pyright: ignore[reportArgumentType]

    outcome = {"abort": "aborted", "error": "failed"}.get(reason, "finished")
    _assert_counted(grade, happens, accepted=1, **{outcome: 1})


def test_task_3_what_has_not_ended_is_open(grade: Grader) -> None:
    happens = (*(Started(name) for name in "abcd"), Ended("b"), Ended("d", "abort"))

    _assert_counted(grade, happens, accepted=4, finished=1, aborted=1, open=2)


def test_task_3_requests_are_open_as_soon_as_they_begin(grade: Grader) -> None:
    _assert_counted(grade, (Started("a"), Started("b")), accepted=2, open=2)


def test_task_3_an_end_counts_once(grade: Grader) -> None:
    """A client may leave in the moment in which its answer ends."""
    happens = (Started("a"), Started("b"), Ended("a"), Ended("a", "abort"), Ended("a"))

    _assert_counted(grade, happens, accepted=2, finished=1, open=1)


def test_task_3_a_name_may_come_again(grade: Grader) -> None:
    again = (Started("a"), Seen("a"), Ended("a"))

    _assert_counted(grade, again * 3, accepted=3, finished=3)


def test_task_3_the_first_token_is_timed_from_the_start(grade: Grader) -> None:
    happens = (
        *(Started("a"), Wait(0.03), Started("b"), Wait(0.2), Seen("b"), Wait(3)),
        *(Seen("a"), Wait(40), Started("c"), Seen("c")),
    )

    _assert_timed(grade, happens, "first_token", [0.2, 3.23, 0.0])


def test_task_3_other_tokens_are_timed_from_the_one_before(grade: Grader) -> None:
    happens = (
        *(Started("a"), Wait(9), Seen("a"), Wait(0.02), Seen("a"), Wait(0.3)),
        *(Started("b"), Seen("b"), Wait(0.6), Seen("a"), Wait(20), Seen("b")),
    )

    _assert_timed(grade, happens, "token_gap", [0.02, 0.9, 20.6])


def test_task_3_an_output_without_a_token_is_none(grade: Grader) -> None:
    """Such as the end token: it is no part of the answer."""
    happens = (
        *(Started("a"), Wait(1), Seen("a", has_token=False), Wait(1), Seen("a")),
        *(Wait(1), Seen("a", has_token=False), Wait(1), Seen("a"), Ended("a")),
    )

    _assert_timed(grade, happens, "first_token", [2.0])
    _assert_timed(grade, happens, "token_gap", [2.0])


def test_task_3_tokens_are_counted(grade: Grader) -> None:
    """Those of a prompt once, and not with each token of its answer."""
    happens = (
        *(Started("a"), Started("b"), Seen("a", num_prompt=30, num_cached=16)),
        *(Seen("b", num_prompt=5, num_cached=0),),
        *(Seen("a", num_prompt=30, num_cached=16, num_output=one) for one in (2, 3, 4)),
        *(Seen("b", has_token=False, num_prompt=5, num_cached=0), Ended("b")),
    )
    names = ("prompt", "cached", "generated")

    call = Day(REQUESTS, (), happens=happens, asked=tuple(map(_tokens, names)))

    counts = dict(zip(map(_tokens, names), (35, 16, 5), strict=True))
    grade.assert_equal(call, counts)


def test_task_3_a_prompt_counts_without_an_answer(grade: Grader) -> None:
    """The model has read it, and ended at once."""
    happens = (Started("a"), Seen("a", has_token=False, num_output=0), Ended("a"))
    asked = tuple(map(_tokens, ("prompt", "cached", "generated")))

    call = Day(REQUESTS, (), happens=happens, asked=asked)

    grade.assert_equal(call, dict(zip(asked, (10, 4, 0), strict=True)))


def test_task_3_what_comes_too_late_is_not_counted(grade: Grader) -> None:
    """The step that runs while a client leaves still gives a token for it."""
    happens = (Started("a"), Seen("a"), Ended("a", "abort"), Wait(1), Seen("a"))
    names = ("token_gap_seconds_count", "requests_open")

    call = Day(REQUESTS, (), happens=happens, asked=(_tokens("generated"), *names))

    late = (1, None, 0)
    grade.assert_equal(call, dict(zip(call.asked, late, strict=True)))


def _tokens(kind: str) -> str:
    return f"{kind}_tokens_total"


def _door(
    num_places: int,
    steps: tuple[Step, ...],
    part: Literal["statuses", "open", "waits"] = "statuses",
) -> Door:
    return Door(ADMISSION, (), build=(num_places,), steps=steps, part=part)


def _assert_counted(
    grade: Grader, happens: tuple[Started | Seen | Ended | Wait, ...], **counts: int
) -> None:
    """Judge how many requests came, and what became of them. The others are 0."""
    kinds = ("accepted", "finished", "aborted", "failed", "open")
    names = [
        f"requests_{kind}" + ("_total" if kind != "open" else "") for kind in kinds
    ]

    call = Day(REQUESTS, (), happens=happens, asked=tuple(names))

    numbers = (counts.get(kind, 0) for kind in kinds)
    grade.assert_equal(call, dict(zip(names, numbers, strict=True)))


def _assert_timed(
    grade: Grader,
    happens: tuple[Started | Seen | Ended | Wait, ...],
    what: str,
    times_s: list[float],
) -> None:
    """Judge how often something was timed, and how long it took, in all buckets."""
    bounds = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
    names = [f"{what}_seconds_bucket le={float(bound)}" for bound in bounds]
    call = Day(REQUESTS, (), happens=happens, asked=tuple(names))

    counts = dict(zip(bounds, map(grade.run(call).get, names), strict=True))

    below = {bound: sum(one <= bound for one in times_s) for bound in bounds}
    missed = {bound: n for bound, n in below.items() if counts[bound] != n}
    got = {bound: counts[bound] for bound in missed}
    complaint = say(f"{SAID}.timed", what=what, expected=missed, got=got)
    grade.assert_that(not missed, call, complaint)


def _recording(
    families: tuple[Measured, ...],
    events: tuple[Event, ...],
    num_threads: int = 1,
    part: Literal["samples", "end"] = "samples",
) -> Recording:
    return Recording(
        METRICS,
        (),
        families=families,
        events=events,
        num_threads=num_threads,
        part=part,
    )


def _assert_reads(
    grade: Grader, families: tuple[Measured, ...], events: tuple[Event, ...]
) -> None:
    """Judge what Prometheus reads, against its own client for Python."""
    call = _recording(families, events)

    got = grade.run(call)

    expected = recorded(families, events)
    missing = {name: one for name, one in expected.items() if got.get(name) != one}
    more = sorted(got.keys() - expected.keys())
    seen = {name: got.get(name) for name in missing}
    complaint = say(f"{SAID}.reads", expected=missing, got=seen, more=more)
    grade.assert_that(not missing and not more, call, complaint)
