"""Which known mistake explains what a solution does."""

import functools
from collections.abc import Sequence
from typing import TypeVar

import mlx.core as mx

from tiny_llm_course.catalogue import say
from tiny_llm_course.composed_mistakes.mistakes import Composed
from tiny_llm_course.grading.diagnosis import symptoms
from tiny_llm_course.grading.judgement import errors
from tiny_llm_course.grading.judgement.call import dtype_name
from tiny_llm_course.grading.judgement.trial import Outcome, Trial
from tiny_llm_course.grading.judgement.verdict import (
    ArrayEvidence,
    Evidence,
    RaisedEvidence,
    SharesEvidence,
    TextEvidence,
    UnsteadyEvidence,
    VerdictError,
)
from tiny_llm_course.specimens import Specimen

MOST, HALF = 0.6, 0.5
"""Of the tests that a mistake fails, what it has to explain: of all, of the failed."""

MOST_VALUES = 3
"""More values of an argument tell nobody what they have in common."""

Mistake = Specimen | Composed
M = TypeVar("M", Specimen, Composed)


def explain(outcomes: Sequence[Outcome], known: Sequence[M]) -> list[M]:
    """Return the mistake that does what a solution did, on every test it was seen on.

    Begin with the first failing test that any mistake explains, by failing it in the
    same way; then let the other tests, failed and passed, tell those apart that remain.
    Two solutions may fail one test alike by chance, such as by drawing token 0 whenever
    nothing is left to draw, or in bfloat16, which is coarse. So of the tests that a
    mistake fails, most have to fail in the way that the solution does: of all tests, or
    if no mistake is like that, half of those that failed. The tests that it passes do
    not count: a wrong softmax fails those of attention, its known mistake does not.

    Args:
        outcomes: Of all tests of one task.
        known: The mistakes that may be named.

    Returns:
        One mistake, several that no test tells apart, or none.
    """
    if _is_unsteady(outcomes):
        return []
    failed = [one for one in outcomes if one.verdict]
    # Whoever is wrong at one temperature only passes where a known mistake fails.
    return _explained(outcomes, outcomes, MOST, known) or _explained(
        outcomes, failed, HALF, known
    )


def _explained(
    outcomes: Sequence[Outcome],
    asked: Sequence[Outcome],
    share: float,
    known: Sequence[M],
) -> list[M]:
    """Return the mistakes that fail a share of the tests asked as a solution did."""
    failed = [one for one in outcomes if one.verdict and one.verdict.evidence]
    passed = [one for one in outcomes if not one.verdict]
    for position, outcome in enumerate(failed):
        candidates = [
            one
            for one in known
            if does_the_same(one, outcome)
            and _explains(one, asked, share)
            and (_is_exact(one, failed) or _agrees(one, outcomes))
        ]
        if candidates:
            exact = [one for one in candidates if _is_exact(one, [outcome])]
            rest = [*failed[position + 1 :], *passed]
            return _narrowed(exact or candidates, rest)
    return []


@functools.cache
def verdict_on(one: Mistake, trial: Trial) -> VerdictError | None:
    """Run a test on a known solution, once: every test is seeded."""
    verdict = trial.run(one.as_solution())
    # The frames of a traceback would keep all arrays of the test.
    return verdict and verdict.with_traceback(None)


def leaves_some(one: Mistake, outcomes: Sequence[Outcome]) -> bool:
    """Tell whether a mistake passes a test of its public name that the solution fails.

    It may be what is wrong, but then something else is, too.
    """
    own = [each for each in outcomes if one.symbol in each.trial.symbols]
    return any(each.verdict and verdict_on(one, each.trial) is None for each in own)


def describe(outcomes: Sequence[Outcome]) -> str | None:
    """Say how the outputs of a solution are wrong, when no mistake explains them.

    Args:
        outcomes: Of all tests of one task.
    """
    if _is_unsteady(outcomes):
        return say("symptoms.unsteady")
    dtypes = _dtypes_by_success(outcomes)
    half = sorted(dtypes[False] - {"float32"})
    if half and "float32" in dtypes[True] and "float32" not in dtypes[False]:
        return say("symptoms.half_only", dtypes=say("grading.and").join(half))
    # The first failure is the one that is shown, so the words have to be about it.
    first = next((one.verdict for one in outcomes if one.verdict), None)
    evidence = first.evidence if first else None
    return _described(evidence) or _only_where(outcomes)


def _described(evidence: Evidence | None) -> str | None:
    """Say how one output is wrong."""
    match evidence:
        case RaisedEvidence():
            return errors.describe(evidence)
        case SharesEvidence(got, _, expected):
            return symptoms.describe_shares(got, expected)
        case TextEvidence(got, expected) if expected is not None:
            return symptoms.describe_value(got, expected)
        case ArrayEvidence(got, truth):
            return symptoms.describe(got, truth)
        case _:
            return None


def _only_where(outcomes: Sequence[Outcome]) -> str | None:
    """Say by which argument the tests that fail differ from others of their kind."""
    failed = [one.trial for one in outcomes if one.verdict]
    kinds = {one.function for one in failed}
    passed = [
        one.trial for one in outcomes if not one.verdict and one.trial.function in kinds
    ]
    for name in failed[0].arguments if passed else ():
        wrong = dict.fromkeys(_shown(one, name) for one in failed)
        right = {_shown(one, name) for one in passed}
        if "" not in wrong and len(wrong) <= MOST_VALUES and not right & wrong.keys():
            return say(
                "symptoms.only_where", name=name, values=say("grading.or").join(wrong)
            )
    return None


def _shown(trial: Trial, name: str) -> str:
    """Write an argument of a test, or nothing if it has none that is short."""
    value = trial.arguments.get(name, mx)
    is_short = isinstance(value, int | float | str | tuple | slice | None)
    return repr(value) if is_short else ""


def _is_unsteady(outcomes: Sequence[Outcome]) -> bool:
    """Tell whether some test saw two results of one call."""
    seen = (one.verdict.evidence for one in outcomes if one.verdict)
    return any(isinstance(one, UnsteadyEvidence) for one in seen)


def _dtypes_by_success(outcomes: Sequence[Outcome]) -> dict[bool, set[str]]:
    """Return the dtypes of the tests that passed, and of those that failed."""
    found: dict[bool, set[str]] = {True: set(), False: set()}
    for outcome in outcomes:
        dtype = outcome.trial.arguments.get("dtype")
        if isinstance(dtype, mx.Dtype):
            found[outcome.verdict is None].add(dtype_name(dtype))
    return found


def _narrowed(candidates: list[M], outcomes: Sequence[Outcome]) -> list[M]:
    """Drop the candidates that other tests contradict, until one is left."""
    for outcome in outcomes:
        if len(candidates) == 1:
            break
        agreeing = [one for one in candidates if does_the_same(one, outcome)]
        candidates = agreeing or candidates
    return candidates


def _explains(one: Mistake, outcomes: Sequence[Outcome], share: float) -> bool:
    """Tell whether of the tests that a mistake fails a share fails in the same way."""
    shared = [outcome for outcome in outcomes if verdict_on(one, outcome.trial)]
    num_explained = sum(does_the_same(one, outcome) for outcome in shared)
    return num_explained >= share * len(shared)


def _is_exact(one: Mistake, failed: Sequence[Outcome]) -> bool:
    """Tell whether a mistake fails some test with more than an error of one kind."""
    return any(tells(one, outcome, has_passed=False) for outcome in failed)


def _agrees(one: Mistake, outcomes: Sequence[Outcome]) -> bool:
    """Tell whether a mistake does what a solution does on every test.

    Some of those have to pass. Tests of another public name do not count: there both
    are the reference.
    """
    own = [each.verdict for each in outcomes if one.symbol in each.trial.symbols]
    passes = None in own if own else any(each.verdict is None for each in outcomes)
    return passes and all(does_the_same(one, outcome) for outcome in outcomes)


def tells(one: Mistake, outcome: Outcome, *, has_passed: bool) -> bool:
    """Tell whether it is no coincidence that a mistake fails a test alike.

    Where nothing is left to draw from, all mistakes look alike. Errors of one kind have
    many reasons, unless there are tests that do not raise them.
    """
    if outcome.verdict is None or not does_the_same(one, outcome):
        return False
    evidence = outcome.verdict.evidence
    if isinstance(evidence, SharesEvidence):
        return evidence.is_telling
    if isinstance(evidence, RaisedEvidence):
        own = verdict_on(one, outcome.trial)
        known = own.evidence if own else None
        is_exact = isinstance(known, RaisedEvidence) and known.is_exactly(evidence)
        return has_passed or is_exact
    return True


def does_the_same(one: Mistake, outcome: Outcome) -> bool:
    """Tell whether a mistake passes or fails a test just as the solution did."""
    verdict = verdict_on(one, outcome.trial)
    if outcome.verdict is None or verdict is None:
        return outcome.verdict is verdict
    evidence = verdict.evidence
    return evidence is not None and evidence.matches(outcome.verdict.evidence)
