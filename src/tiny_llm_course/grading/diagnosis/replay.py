"""One call of a failing test, made again: quicker than the test around it."""

from dataclasses import dataclass, field

import mlx.core as mx

from tiny_llm_course.composed_mistakes.mistakes import Composed
from tiny_llm_course.grading.diagnosis.known_mistakes import does_the_same
from tiny_llm_course.grading.judgement.call import Call
from tiny_llm_course.grading.judgement.closeness import is_close
from tiny_llm_course.grading.judgement.errors import evidence_of
from tiny_llm_course.grading.judgement.trial import Outcome, quietly_on
from tiny_llm_course.grading.judgement.verdict import ArrayEvidence, RaisedEvidence
from tiny_llm_course.solution import Solution
from tiny_llm_course.specimens import UNCHANGED


@dataclass(frozen=True)
class Replay:
    """What a solution did in a test, and the call in which it did it.

    Attributes:
        outcome: What came of the test.
        call: The call, if it can be made by itself.
        dtype: What a right result has.
        results: What came out of it, by mistake.
    """

    outcome: Outcome
    call: Call | None
    dtype: mx.Dtype = mx.float32
    results: dict[Composed, mx.array | None] = field(
        default_factory=dict[Composed, mx.array | None]
    )

    @property
    def is_of_an_error(self) -> bool:
        """Whether the solution raised something in the test."""
        verdict = self.outcome.verdict
        return verdict is not None and isinstance(verdict.evidence, RaisedEvidence)

    def compared_with(self, one: Composed) -> bool | None:
        """Tell whether a mistake seems to do the same, or None if it does no harm here.

        The test itself is the judge.
        """
        evidence = self.outcome.verdict.evidence if self.outcome.verdict else None
        if self.call and isinstance(evidence, RaisedEvidence):
            error = self.raised_by(one)
            return error and error.is_exactly(evidence)
        if self.call is None or not isinstance(evidence, ArrayEvidence):
            return does_the_same(one, self.outcome) or None
        got = self.result_of(one)
        if got is None:
            return False
        if self.is_right(got):
            return None
        return ArrayEvidence(got, evidence.truth).matches(evidence)

    def is_right(self, got: mx.array) -> bool:
        """Tell whether a result of the call passes the test."""
        evidence = self.outcome.verdict.evidence if self.outcome.verdict else None
        return (
            isinstance(evidence, ArrayEvidence)
            and got.dtype == self.dtype
            and is_close(got, evidence.truth)
        )

    def result_of(self, one: Composed) -> mx.array | None:
        """Make the call of a mistake, once."""
        if one not in self.results:
            self.results[one] = self.result(one.as_solution())
        return self.results[one]

    def raised_by(self, one: Composed) -> RaisedEvidence | None:
        """Make the call of a mistake. Return the error that comes up, if one does."""
        assert self.call is not None
        try:
            with quietly_on(self.outcome.trial.device):
                mx.eval(self.call.run(one.as_solution()))
        except (Exception, SystemExit) as error:  # noqa: BLE001 - any mistake's
            return evidence_of(error)
        return None

    def result(self, solution: Solution) -> mx.array | None:
        """Make the call. Return the array that comes out, if one does."""
        if self.call is None:
            return None
        try:
            with quietly_on(self.outcome.trial.device):
                got = self.call.run(solution)
                if not isinstance(got, mx.array):
                    return None
                mx.eval(got)
        except (Exception, SystemExit):  # noqa: BLE001 - a mistake may raise anything
            return None
        return got


def replay(outcome: Outcome) -> Replay:
    """Find the call in which a test failed.

    It can be made by itself if it gives the truth each time: then nothing is remembered
    from one time to the next.
    """
    evidence = outcome.verdict.evidence if outcome.verdict else None
    if isinstance(evidence, RaisedEvidence):
        calls = outcome.trial.calls(UNCHANGED)
        return Replay(outcome, calls[0] if len(calls) == 1 else None)
    if isinstance(evidence, ArrayEvidence):
        truth = evidence.truth
        for call in outcome.trial.calls(UNCHANGED):
            found = Replay(outcome, call)
            first, again = (found.result(UNCHANGED) for _ in range(2))
            if first is None or again is None:
                continue
            if is_close(first, truth) and is_close(again, truth):
                return Replay(outcome, call, first.dtype)
    return Replay(outcome, None)
