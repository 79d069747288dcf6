"""Which known mistake explains what a solution does."""

from collections.abc import Sequence
from dataclasses import dataclass

from tiny_llm_course.grading.trial import Trial
from tiny_llm_course.grading.verdict import VerdictError
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

    Args:
        outcomes: Of all tests of one task.
        known: The mistakes that may be named.

    Returns:
        One mistake, several that no test tells apart, or none.
    """
    failed = [one for one in outcomes if one.verdict and one.verdict.evidence]
    passed = [one for one in outcomes if not one.verdict]
    for position, outcome in enumerate(failed):
        candidates = [one for one in known if _does_the_same(one, outcome)]
        if candidates:
            return _narrowed(candidates, [*failed[position + 1 :], *passed])
    return []


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


def _does_the_same(one: Specimen, outcome: Outcome) -> bool:
    """Tell whether a mistake passes or fails a test just as the solution did."""
    verdict = outcome.trial.run(one.as_solution())
    if outcome.verdict is None or verdict is None:
        return outcome.verdict is verdict
    evidence = verdict.evidence
    return evidence is not None and evidence.matches(outcome.verdict.evidence)
