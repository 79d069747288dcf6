"""What every scheduler keeps to, whatever it chooses: rules for a load that was served.

Each rule returns its first complaint, or nothing.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

from tiny_llm_course.catalogue import say
from tiny_llm_course.grading.scenarios.loads import SAID, Served, Step
from tiny_llm_course.grading.scenarios.scheduling import Load

Rule = Callable[[Load, Served], Iterator[str]]


def keeps_to_the_budget(load: Load, served: Served) -> Iterator[str]:
    """No step computes more tokens than it may."""
    _, budget = load.args
    for step in served.steps:
        if step.num_tokens > budget:
            told = {"tokens": step.num_tokens, "budget": budget}
            yield _said("over_budget", step, **told)


def keeps_to_the_seats(load: Load, served: Served) -> Iterator[str]:
    """No more requests run than may."""
    seats, _ = load.args
    for step in served.steps:
        if len(step.runs) > seats:
            yield _said("crowded", step, names=", ".join(step.runs), seats=seats)


def leaves_nobody_out(load: Load, served: Served) -> Iterator[str]:
    """Who runs is computed in each step."""
    del load
    for step in served.steps:
        for name in step.runs:
            if not step.given(name):
                yield _said("left_out", step, name=name)


def is_first_come_first_served(load: Load, served: Served) -> Iterator[str]:
    """Nobody gets tokens while one that came before is given less than it needs."""
    del load
    for step in served.steps:
        short = ""
        for name, needed in step.present.items():
            if short and step.given(name):
                yield _said("overtaken", step, name=name, short=short)
            if step.given(name) < needed:
                short = short or name


def wastes_nothing(load: Load, served: Served) -> Iterator[str]:
    """While a step could compute more, nobody lacks a token or a seat."""
    seats, budget = load.args
    for step in served.steps:
        if step.num_tokens >= budget:
            continue
        told = {"tokens": step.num_tokens, "budget": budget}
        for name in step.runs:
            if step.given(name) < step.present[name]:
                yield _said("cut_short", step, name=name, **told)
        waits = [name for name in step.present if name not in step.runs]
        has_room = served.room.is_endless or (step.has_room and not step.preempted)
        if waits and has_room and len(step.runs) < seats:
            yield _said("kept_waiting", step, name=waits[0], **told)


def admits_nobody_when_it_preempts(load: Load, served: Served) -> Iterator[str]:
    """The room that was made is for those who stayed."""
    del load
    for step in served.steps:
        if step.preempted and step.admitted:
            told = {"freed": step.preempted[0], "name": step.admitted[0]}
            yield _said("admitted", step, **told)


def preempts_only_when_refused(load: Load, served: Served) -> Iterator[str]:
    """One goes for each time that there was no room."""
    del load
    for step in served.steps:
        if len(step.preempted) > step.num_refusals:
            told = {"refusals": step.num_refusals, "names": ", ".join(step.preempted)}
            yield _said("preempted", step, **told)


def gives_all_memory_back(load: Load, served: Served) -> Iterator[str]:
    """At the end, no place is taken."""
    del load
    if served.room.places:
        yield say(f"{SAID}.kept_memory", names=", ".join(served.room.places))


def notes_what_is_computed(load: Load, served: Served) -> Iterator[str]:
    """Memory hears of each piece."""
    del load
    for piece, noted in served.unnoted:
        told = {"name": piece.id, "number": piece.stop, "noted": noted}
        yield say(f"{SAID}.{'unnoted' if noted is None else 'noted_less'}", **told)


def answers_as_if_alone(load: Load, served: Served) -> Iterator[str]:
    """Each answer is that of the request by itself, or the beginning if it left."""
    for name, job in load.by_name.items():
        got = list(served.requests[name].output)
        expected = job.answer
        if served.aborted.get(name):
            expected = expected[: served.num_said[name]]
        if got != expected:
            yield say(f"{SAID}.wrong_answer", name=name, got=got, expected=expected)


def takes_nothing_back(load: Load, served: Served) -> Iterator[str]:
    """Who was preempted has what it had said: somebody may have read it."""
    del load
    said = dict[str, int]()
    for step in served.steps:
        for name, number in step.num_said.items():
            if number < said.get(name, 0):
                yield _said("taken_back", step, name=name, number=said[name])
        said |= step.num_said


def tells_why_each_ended(load: Load, served: Served) -> Iterator[str]:
    """At an end token, at its length, or because it left."""
    for name, job in load.by_name.items():
        request = served.requests[name]
        has_ended = name in served.aborted and not served.aborted[name]
        expected = replace(job, leaves=None).reason if has_ended else job.reason
        if (request.finish_reason, request.status) != (expected, "finished"):
            told = {"got": request.finish_reason, "status": request.status}
            yield say(f"{SAID}.wrong_reason", name=name, expected=expected, **told)


def returns_each_that_ended_once(load: Load, served: Served) -> Iterator[str]:
    """`postprocess` returns each of them, but for those that left."""
    ended = [name for step in served.steps for name in step.ended]
    for name in load.by_name:
        expected = 0 if served.aborted.get(name) else 1
        if ended.count(name) != expected:
            told = {"times": ended.count(name), "expected": expected}
            yield say(f"{SAID}.not_returned", name=name, **told)


def says_whether_it_aborted(load: Load, served: Served) -> Iterator[str]:
    """`abort` returns True for a request that waits or runs, and False otherwise."""
    ended = [name for step in served.steps for name in step.ended]
    for name in load.by_name:
        expected = name not in ended
        got = served.aborted.get(name, expected)
        if got is not expected:
            yield say(f"{SAID}.wrong_abort", name=name, got=got, expected=expected)


def shows_who_runs_and_who_waits(load: Load, served: Served) -> Iterator[str]:
    """`running`, `waiting` and each status, in the order of arrival."""
    del load
    for step in served.steps:
        runs = step.runs
        waits = [name for name in step.present if name not in runs]
        told = {"runs": ", ".join(runs), "waits": ", ".join(waits)}
        if [*step.running] != runs or [*step.waiting] != waits:
            got = {"running": ", ".join(step.running), "line": ", ".join(step.waiting)}
            yield _said("wrong_lists", step, **told, **got)
        for name, status in step.statuses.items():
            expected = "running" if name in runs else "waiting"
            if status != expected:
                named = {"name": name, "status": status, "expected": expected}
                yield _said("wrong_status", step, **named)


def first_complaint(rule: Rule, load: Load, served: Served) -> str:
    """Return what a rule says of a load that was served. A fault comes first."""
    return served.fault or next(rule(load, served), "")


def _said(key: str, step: Step, **told: object) -> str:
    """Say a complaint about a step, with what it computes."""
    return say(f"{SAID}.{key}", step=step.number, pieces=step, **told)
