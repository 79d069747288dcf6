"""Names a mistake that nobody has written down, by trying changes of the reference."""

import itertools
import time
from collections.abc import Iterable, Iterator, Sequence

import mlx.core as mx
import numpy as np

from tiny_llm_course.composed.mistakes import Composed, composed
from tiny_llm_course.grading.diagnosis import (
    Outcome,
    does_the_same,
    tells,
    verdict_on,
)
from tiny_llm_course.grading.results import NOT_STARTED
from tiny_llm_course.grading.verdict import ArrayEvidence
from tiny_llm_course.syllabus import Address

COMPOSING_S = 1.5
"""CPU time that goes into one change at most, and again into two at once."""

LEAST_AGREEMENT = 0.8
"""Of the tests, those on which a composed mistake has to do what a solution does."""


def compose(outcomes: Sequence[Outcome], task: Address) -> Composed | None:
    """Return the change of the reference's own text that does what a solution did.

    If there is none, two changes. They have to agree with the solution on most tests,
    those that pass included. Of several that do, the first is named: they are different
    ways to say the same.
    """
    failed = [one for one in outcomes if one.verdict and one.verdict.evidence]
    verdicts = [one.verdict for one in failed if one.verdict]
    if not failed or any(one.status == NOT_STARTED for one in verdicts):
        return None
    stop_s = time.process_time() + COMPOSING_S
    single = _best(_until(stop_s, composed(task)), failed, outcomes)
    if single:
        return single
    pairs = _pairs(_until(stop_s, composed(task)), failed, outcomes)
    return _best(_until(stop_s + COMPOSING_S, pairs), failed, outcomes)


def _until(stop_s: float, mistakes: Iterable[Composed]) -> Iterator[Composed]:
    """Yield mistakes as long as there is time."""
    for one in mistakes:
        if time.process_time() > stop_s:
            return
        yield one


def _best(
    mistakes: Iterable[Composed], failed: Sequence[Outcome], outcomes: Sequence[Outcome]
) -> Composed | None:
    """Return the mistake that agrees best with a solution, if it does well enough."""
    has_passed = len(failed) < len(outcomes)
    best, found = LEAST_AGREEMENT, None
    for one in mistakes:
        if not any(does_the_same(one, outcome) for outcome in failed[:2]):
            continue
        same = [outcome for outcome in outcomes if does_the_same(one, outcome)]
        agreement = len(same) / len(outcomes)
        is_better = agreement > best or (agreement == best and found is None)
        if is_better and any(tells(one, each, has_passed=has_passed) for each in same):
            best, found = agreement, one
    return found


def _pairs(
    singles: Iterable[Composed], failed: Sequence[Outcome], outcomes: Sequence[Outcome]
) -> Iterator[Composed]:
    """Yield two usual mistakes at once, none of which fails what a solution passes.

    Of those that do the same in some of the failing tests, one is enough.
    """
    passed = [one for one in outcomes if not one.verdict][:3]
    shown = [failed[0], failed[len(failed) // 2], failed[-1]]
    likely: dict[tuple[bytes, ...], Composed] = {}
    for one in filter(lambda each: each.is_usual, singles):
        done = tuple(_numbers(one, outcome) for outcome in shown)
        if any(done) and all(does_the_same(one, outcome) for outcome in passed):
            likely.setdefault(done, one)
    for a, b in itertools.combinations(likely.values(), 2):
        if both := a.and_also(b):
            yield both


def _numbers(one: Composed, outcome: Outcome) -> bytes:
    """Return the wrong numbers that a mistake gives in a test, if it gives any."""
    verdict = verdict_on(one, outcome.trial)
    evidence = verdict.evidence if verdict else None
    if not isinstance(evidence, ArrayEvidence):
        return b""
    return np.array(evidence.got.astype(mx.float32)).tobytes()
