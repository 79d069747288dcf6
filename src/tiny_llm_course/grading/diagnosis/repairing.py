"""Names a mistake by its remedy: a change of the learner's own text."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from tiny_llm_course.catalogue import say
from tiny_llm_course.composed_mistakes.text import Text, text_in, text_of
from tiny_llm_course.grading.diagnosis.composing import first_wrong, is_tried
from tiny_llm_course.grading.diagnosis.harmless import TooLongError, harmless, in_time
from tiny_llm_course.grading.diagnosis.known_mistakes import Mistake, does_the_same
from tiny_llm_course.grading.diagnosis.meeting import Answers, is_closer, known
from tiny_llm_course.grading.diagnosis.replay import Replay, replay
from tiny_llm_course.grading.judgement.trial import Outcome, uncompiled
from tiny_llm_course.grading.judgement.verdict import (
    ArrayEvidence,
    RaisedEvidence,
)
from tiny_llm_course.grading.results import NOT_STARTED
from tiny_llm_course.repairs.candidates import Repair, pieces_of, repairs_of
from tiny_llm_course.repairs.difference import told
from tiny_llm_course.solution import Solution
from tiny_llm_course.specimens import Overlay
from tiny_llm_course.syllabus import Address

REPAIRING_S = 2.0
"""CPU time that goes into looking for a repair."""

MEETING_S = 1.0
"""CPU time that goes into looking for a known mistake that is left after a repair."""

RIGHT = object()
"""Stands for an answer that is right."""


@dataclass(frozen=True)
class Repaired:
    """A solution that is right but for one change, and perhaps a known mistake.

    Attributes:
        symbol: The public name that is changed.
        line: Where, in its file.
        told: What is wrong there.
        left: The mistake that is still there after the change, if there is one.
    """

    symbol: str
    line: int
    told: str
    left: Mistake | None = None

    @property
    def name(self) -> str:
        """What the report calls it. The book has no place for it."""
        return f"repaired: {self.symbol}, line {self.line}"

    @property
    def says(self) -> str:
        """What a learner reads."""
        words = {"file": self.symbol.split(".")[0] + ".py", "line": self.line}
        if self.left is None:
            return say("repairs.one", told=self.told, **words)
        return say("repairs.two", told=self.told, other=self.left.says.strip(), **words)


@dataclass
class Search:
    """A search for the repair of one public name.

    Attributes:
        outcomes: Of all tests of the name.
        symbol: The name.
        text: What the learner wrote.
        first: The failing call that is tried first.
        answers: What came of it after each change, where that was not right.
    """

    outcomes: Sequence[Outcome]
    symbol: str
    text: Text
    first: Replay
    answers: Answers = field(default_factory=Answers)

    def run(self) -> Repair | None:
        """Return the first change with which all tests pass."""
        stop_s = time.process_time() + REPAIRING_S
        for repair in self._candidates():
            if time.process_time() > stop_s:
                return None
            if self._is_remedy(repair):
                return repair
        return None

    def _candidates(self) -> Iterator[Repair]:
        """Yield what may repair the text, with pieces of the reference's own."""
        ours = text_of(self.symbol)
        aspect = _aspect(self.first, self.outcomes)
        return repairs_of(self.text, aspect, pieces_of(ours) if ours else ())

    def meet(self, task: Address) -> tuple[Repair, Mistake] | None:
        """Return a change after which a known mistake is left."""
        stop_s = time.process_time() + MEETING_S
        for mistake in known(task, self.symbol):
            alike = self.answers.like(self._answer(mistake.as_solution()))
            if alike and not is_closer(mistake, self.outcomes):
                continue
            for repair in alike:
                if time.process_time() > stop_s:
                    return None
                if self._leaves(repair, mistake):
                    return repair, mistake
            if time.process_time() > stop_s:
                return None
        return None

    def _is_remedy(self, repair: Repair) -> bool:
        """Tell whether all tests pass with a change."""
        made = _made(self.text, repair)
        if made is None:
            return False
        solution = Overlay(self.symbol, made)
        try:
            with in_time():
                return self._seems_right(repair, solution) and all(
                    one.trial.run(solution) is None for one in self._failed_first
                )
        except TooLongError:
            return False

    @property
    def _failed_first(self) -> list[Outcome]:
        """All tests, those that fail before the others."""
        return sorted(self.outcomes, key=lambda one: one.verdict is None)

    def _seems_right(self, repair: Repair, solution: Solution) -> bool:
        """Tell whether the first failing call is right now, if it can be made alone."""
        answer = self._answer(solution)
        if answer is RIGHT:
            return True
        self.answers.add(repair, answer)
        return False

    def _answer(self, solution: Solution) -> Any:  # noqa: ANN401 - RIGHT or an answer
        """Return what comes of the first failing call, or of its test."""
        if self.first.call is None or self.first.is_of_an_error:
            verdict = self.first.outcome.trial.run(solution)
            return verdict.evidence if verdict else RIGHT
        got = self.first.result(solution)
        return RIGHT if got is not None and self.first.is_right(got) else got

    def _leaves(self, repair: Repair, mistake: Mistake) -> bool:
        """Tell whether a solution with a change does what a known mistake does."""
        solution = Overlay(self.symbol, _made(self.text, repair))
        try:
            with in_time():
                return all(
                    does_the_same(mistake, Outcome(one.trial, one.trial.run(solution)))
                    for one in self._failed_first
                )
        except TooLongError:
            return False


@uncompiled()
def repaired(
    outcomes: Sequence[Outcome], task: Address, solution: Solution
) -> Repaired | None:
    """Return the change of a solution's own text with which all tests pass.

    If there is none, the change after which it does what a known mistake does.

    Args:
        outcomes: Of all tests of the task.
        task: The task.
        solution: What was tested.
    """
    symbol, own = first_wrong(outcomes, task)
    is_asked = symbol and is_tried(symbol, task)
    text = _text_in(solution, symbol) if is_asked else None
    return _repaired(own, task, symbol, text) if text else None


def _text_in(solution: Solution, symbol: str) -> Text | None:
    """Return what a solution has written for a public name, if it is in Python."""
    file, name = symbol.split(".")
    path = solution.folder / f"{file}.py"
    return text_in(path, f"{solution.package}.{file}", name) if path.exists() else None


def _repaired(
    outcomes: Sequence[Outcome], task: Address, symbol: str, text: Text
) -> Repaired | None:
    """Return the change of the text of a public name, given the tests of that name."""
    failed = [one for one in outcomes if one.verdict and one.verdict.evidence]
    verdicts = [one.verdict for one in failed if one.verdict]
    if not failed or any(one.status == NOT_STARTED for one in verdicts):
        return None
    search = Search(outcomes, symbol, text, replay(min(failed, key=_cost)))
    with harmless():
        repair, left = search.run(), None
        if repair is None and (met := search.meet(task)):
            repair, left = met
    if repair is None:
        return None
    return Repaired(symbol, *told(repair.slot.node, repair.node), left)


def _aspect(first: Replay, outcomes: Sequence[Outcome]) -> str:
    """Return what is wrong with the result of a call."""
    verdict = first.outcome.verdict
    evidence = verdict.evidence if verdict else None
    if isinstance(evidence, RaisedEvidence):
        return "error"
    if not isinstance(evidence, ArrayEvidence):
        return "value"
    if evidence.got.shape != evidence.truth.value.shape:
        return "shape"
    by_success: dict[bool, set[object]] = {True: set(), False: set()}
    for one in outcomes:
        by_success[one.verdict is None].add(one.trial.arguments.get("dtype"))
    is_half_only = by_success[True] - by_success[False] - {None}
    return "dtype" if evidence.got.dtype != first.dtype or is_half_only else "value"


def _made(text: Text, repair: Repair) -> Any:  # noqa: ANN401 - a function or a class
    """Return what a text defines with a change, or None if that is no program."""
    before = repair.slot.node
    repair.slot.put(repair.node)
    try:
        code = text.compiled()
    except (SyntaxError, TypeError, ValueError):
        return None
    finally:
        repair.slot.put_back(before)
    try:
        return text.run(code)
    except Exception:  # noqa: BLE001 - a learner's text, changed
        return None


def _cost(outcome: Outcome) -> tuple[bool, int]:
    """Rank failed tests: an array that is not trivial, and yet small, comes first."""
    evidence = outcome.verdict.evidence if outcome.verdict else None
    size = evidence.got.size if isinstance(evidence, ArrayEvidence) else 0
    return size < 8, size
