"""Which known mistake explains what a solution does."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import mlx.core as mx

from tiny_llm_course.catalogue import say
from tiny_llm_course.grading import symptoms
from tiny_llm_course.grading.call import dtype_name
from tiny_llm_course.grading.trial import Trial
from tiny_llm_course.grading.verdict import (
    ArrayEvidence,
    UnsteadyEvidence,
    VerdictError,
)
from tiny_llm_course.specimens import Specimen


@dataclass(frozen=True)
class Outcome:
    """What came of one test of a solution.

    Attributes:
        trial: The test.
        verdict: Why it failed. None if it passed.
    """

    trial: Trial
    verdict: VerdictError | None


def explain(outcomes: Sequence[Outcome], known: Sequence[Specimen]) -> list[Specimen]:
    """Return the mistake that does what a solution did, on every test it was seen on.

    Begin with the first failing test that any mistake explains, by failing it in the
    same way; then let the other tests, failed and passed, tell those apart that remain.
    Two solutions may fail one test alike by chance, such as by drawing token 0 whenever
    nothing is left to draw, or in bfloat16, which is coarse. So of the failing tests
    that a mistake fails, too, it has to explain half at least. Those that it passes do
    not count: a wrong softmax fails the tests of attention, its known mistake does not.

    Args:
        outcomes: Of all tests of one task.
        known: The mistakes that may be named.

    Returns:
        One mistake, several that no test tells apart, or none.
    """
    if _is_unsteady(outcomes):
        return []
    failed = [one for one in outcomes if one.verdict and one.verdict.evidence]
    passed = [one for one in outcomes if not one.verdict]
    for position, outcome in enumerate(failed):
        candidates = [
            one
            for one in known
            if _does_the_same(one, outcome) and _explains_half(one, failed)
        ]
        if candidates:
            return _narrowed(candidates, [*failed[position + 1 :], *passed])
    return []


@functools.cache
def verdict_on(one: Specimen, trial: Trial) -> VerdictError | None:
    """Run a test on a known solution, once: every test is seeded."""
    verdict = trial.run(one.as_solution())
    # The frames of a traceback would keep all arrays of the test.
    return verdict and verdict.with_traceback(None)


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
        return say("symptoms.half_only", dtypes=" and ".join(half))
    # The first failure is the one that is shown, so the words have to be about it.
    first = next((one.verdict for one in outcomes if one.verdict), None)
    evidence = first.evidence if first else None
    if not isinstance(evidence, ArrayEvidence):
        return None
    return symptoms.describe(evidence.got, evidence.truth)


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


def _narrowed(
    candidates: list[Specimen], outcomes: Sequence[Outcome]
) -> list[Specimen]:
    """Drop the candidates that other tests contradict, until one is left."""
    for outcome in outcomes:
        if len(candidates) == 1:
            break
        agreeing = [one for one in candidates if _does_the_same(one, outcome)]
        candidates = agreeing or candidates
    return candidates


def _explains_half(one: Specimen, failed: Sequence[Outcome]) -> bool:
    """Tell whether a mistake fails in the same way, at least half of the times."""
    shared = [outcome for outcome in failed if verdict_on(one, outcome.trial)]
    num_explained = sum(_does_the_same(one, outcome) for outcome in shared)
    return 2 * num_explained >= len(shared)


def _does_the_same(one: Specimen, outcome: Outcome) -> bool:
    """Tell whether a mistake passes or fails a test just as the solution did."""
    verdict = verdict_on(one, outcome.trial)
    if outcome.verdict is None or verdict is None:
        return outcome.verdict is verdict
    evidence = verdict.evidence
    return evidence is not None and evidence.matches(outcome.verdict.evidence)
