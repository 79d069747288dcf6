"""What is left of a wrong solution after a change: perhaps a known mistake."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import mlx.core as mx
import numpy as np

from tiny_llm_course.composed_mistakes.mistakes import Composed, composed
from tiny_llm_course.grading.diagnosis.known_mistakes import Mistake, verdict_on
from tiny_llm_course.grading.judgement.trial import Outcome
from tiny_llm_course.grading.judgement.verdict import (
    ArrayEvidence,
    Evidence,
    RaisedEvidence,
    VerdictError,
)
from tiny_llm_course.repairs.candidates import Repair
from tiny_llm_course.specimens import misconceptions
from tiny_llm_course.syllabus import Address

FEW_NUMBERS = 4
"""Arrays with fewer entries are alike by chance."""

Kind = tuple[mx.Dtype, tuple[int, ...]]
Group = list[tuple[Repair, mx.array]]


@dataclass
class Answers:
    """What came out of one call or one test after each change.

    Attributes:
        arrays: Results of a call, by dtype and shape.
        others: Evidence of a test that compares something else.
    """

    arrays: dict[Kind, Group] = field(default_factory=dict[Kind, Group])
    others: list[tuple[Repair, Evidence]] = field(
        default_factory=list[tuple[Repair, Evidence]]
    )

    def add(self, repair: Repair, answer: mx.array | Evidence | None) -> None:
        """Keep an answer, if a known mistake may give it as well."""
        if isinstance(answer, mx.array):
            if answer.size >= FEW_NUMBERS:
                kind = answer.dtype, answer.shape
                self.arrays.setdefault(kind, []).append((repair, answer))
        elif answer is not None and not isinstance(answer, RaisedEvidence):
            self.others.append((repair, answer))

    def like(self, answer: mx.array | Evidence | None) -> list[Repair]:
        """Return the changes that gave an answer."""
        if not isinstance(answer, mx.array):
            return [one for one, other in self.others if other.matches(answer)]
        group = self.arrays.get((answer.dtype, answer.shape), [])
        if not group:
            return []
        rows = np.stack([_numbers(other) for _, other in group])
        near = np.isclose(rows, _numbers(answer), 1e-3, 1e-4, equal_nan=True)
        return [group[place][0] for place in np.flatnonzero(np.all(near, axis=1))]


def _numbers(array: mx.array) -> np.ndarray[Any, Any]:
    """Return all entries of an array as one row."""
    return np.array(array.astype(mx.float32)).reshape(-1)


def known(task: Address, symbol: str) -> Iterator[Mistake]:
    """Yield the mistakes of a public name: those with a record, then composed ones."""
    for one in misconceptions(task):
        if one.symbol == symbol:
            yield one
    for one in composed(task):
        if one.symbol == symbol and one.is_usual and one.is_ours and _is_program(one):
            yield one


def is_closer(mistake: Mistake, outcomes: Sequence[Outcome]) -> bool:
    """Tell whether a known mistake is nearer to what is right than a solution is.

    A change may also cut out what is wrong, and the known mistake be that this part is
    missing. That explains nothing: the same tests fail.
    """
    pairs = [(one.verdict, verdict_on(mistake, one.trial)) for one in outcomes]
    if any(own is None and known is not None for own, known in pairs):
        return False
    if any(own is not None and known is None for own, known in pairs):
        return True
    kinds = [(_kind(own), _kind(known)) for own, known in pairs]
    return any(own != known for own, known in kinds)


def _kind(verdict: VerdictError | None) -> object:
    """Return the shape and the dtype of a wrong result."""
    evidence = verdict.evidence if verdict else None
    if isinstance(evidence, ArrayEvidence):
        return evidence.got.shape, evidence.got.dtype
    return type(evidence)


def _is_program(one: Composed) -> bool:
    """Tell whether a change makes something that runs."""
    return one.implementation is not None
