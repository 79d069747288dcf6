"""Which calls of a solution are wrong, told by their arguments."""

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, get_args

import mlx.core as mx

from tiny_llm_course.catalogue import say
from tiny_llm_course.grading.diagnosis.composing import first_wrong
from tiny_llm_course.grading.diagnosis.known_mistakes import MOST_VALUES
from tiny_llm_course.grading.judgement.call import Call, dtype_name
from tiny_llm_course.grading.judgement.trial import Outcome
from tiny_llm_course.grading.results import NOT_STARTED
from tiny_llm_course.specimens import UNCHANGED
from tiny_llm_course.syllabus import Address

KINDS = {"array": mx.array, "number": int | float, "slice": slice}
"""Kinds of values that have a size of their own."""


@dataclass(frozen=True)
class Facts:
    """What is true of the arguments of a call, by what it is about.

    Attributes:
        words: What can only be equal or not: None, a word, a dtype.
        sizes: What can be larger: a number, the length of an axis.
    """

    words: dict[str, str] = field(default_factory=dict[str, str])
    sizes: dict[str, float] = field(default_factory=dict[str, float])


def only_calls(outcomes: Sequence[Outcome], task: Address) -> str | None:
    """Say which calls are wrong, if one fact tells them from those that are right.

    It is true of every call of the tests that fail, and of none of those that pass.

    Args:
        outcomes: Of all tests of one task.
        task: The task.
    """
    symbol, own = first_wrong(outcomes, task)
    verdicts = [one.verdict for one in own if one.verdict]
    if not symbol or any(one.status == NOT_STARTED for one in verdicts):
        return None
    wrong = _facts_of_calls([one for one in own if one.verdict], symbol)
    right = _facts_of_calls([one for one in own if not one.verdict], symbol)
    if wrong and not right:
        return say("symptoms.every_call", name=symbol.split(".")[1])
    return next(_telling(wrong, right), None) if wrong else None


def _telling(wrong: Sequence[Facts], right: Sequence[Facts]) -> Iterator[str]:
    """Yield what is true of all wrong calls and of no right one."""
    for about in wrong[0].words:
        seen = {one.words.get(about, "") for one in wrong}
        others = {one.words.get(about, "") for one in right}
        if len(seen) <= MOST_VALUES and not seen & others and "" not in seen | others:
            values = say("grading.or").join(sorted(seen))
            yield say("symptoms.wherever_is", about=about, values=values)
    all_have = [
        about
        for about in wrong[0].sizes
        if all(about in one.sizes for one in (*wrong, *right))
    ]
    for about in all_have:
        least = min(one.sizes[about] for one in wrong)
        if least > max(one.sizes[about] for one in right):
            yield say("symptoms.wherever_at_least", about=about, value=least)
    for about in all_have:
        most = max(one.sizes[about] for one in wrong)
        if most < min(one.sizes[about] for one in right):
            yield say("symptoms.wherever_at_most", about=about, value=most)


def _facts_of_calls(outcomes: Sequence[Outcome], symbol: str) -> list[Facts]:
    """Return the facts of all calls of a public name that some tests make."""
    return [
        _facts(call)
        for one in outcomes
        for call in one.trial.calls(UNCHANGED)
        if call.symbol == symbol
    ]


def _facts(call: Call) -> Facts:
    """Return what is true of the arguments of a call and of its constructor."""
    facts = Facts()
    target = UNCHANGED.get(call.symbol)
    if call.build is not None:
        _add(facts, target, call.build, call.named)
        method = getattr(target, call.method, None)
        _add(facts, method, (None, *call.args), call.kwargs)
    else:
        _add(facts, target, call.args, call.kwargs)
    facts.sizes[say("symptoms.about.earlier")] = len(call.earlier)
    return facts


def _add(
    facts: Facts,
    target: Callable[..., Any] | None,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> None:
    """Add what is true of the arguments, unless there is no telling their names."""
    try:
        signature = inspect.signature(target) if target else None
        bound = signature.bind(*args, **kwargs) if signature else None
    except (TypeError, ValueError):
        return
    if signature is None or bound is None:
        return
    bound.apply_defaults()
    for name, value in bound.arguments.items():
        if name != "self":
            _add_one(facts, name, value, signature.parameters[name].annotation)


def _add_one(facts: Facts, name: str, value: object, annotation: object) -> None:
    """Add what is true of one argument: its kind, its size, the lengths of its axes."""
    about = f"`{name}`"
    facts.words[about] = _kind(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        facts.sizes[about] = value
    if isinstance(value, slice):
        facts.sizes[say("symptoms.about.start", name=name)] = value.start or 0
    if isinstance(value, mx.array):
        facts.words[say("symptoms.about.dtype", name=name)] = dtype_name(value.dtype)
        for axis, length in _axes(value, annotation):
            facts.sizes.setdefault(f"`{axis}`", length)


def _kind(value: object) -> str:
    """Write what can be told of a value without its size."""
    if value is None or isinstance(value, bool | str):
        return repr(value)
    for kind, types in KINDS.items():
        if isinstance(value, types):
            return say(f"symptoms.about.{kind}")
    return say("symptoms.about.other")


def _axes(value: mx.array, annotation: object) -> Iterator[tuple[str, int]]:
    """Yield the axes that an annotation names, such as L and D of "*N L D"."""
    for one in (annotation, *get_args(annotation)):
        names = getattr(one, "dim_str", "").split()
        named = [name for name in names if name.isidentifier()]
        if named and names[-len(named) :] == named and len(named) <= value.ndim:
            yield from zip(named, value.shape[-len(named) :], strict=True)
