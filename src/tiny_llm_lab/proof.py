"""Proves the tests: known mistakes fail and are named, right solutions pass.

It is a plugin of pytest, which has run the tests on the reference before.
"""

import gc
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import pytest

from tiny_llm_course.grading.diagnosis.known_mistakes import (
    does_the_same,
    explain,
    tells,
    verdict_on,
)
from tiny_llm_course.grading.engine.stash import OUTCOMES
from tiny_llm_course.grading.judgement.trial import Outcome, Trial
from tiny_llm_course.grading.judgement.verdict import VerdictError
from tiny_llm_course.solution import Solution, load_solution
from tiny_llm_course.specimens import Overlay, Specimen, accepted, misconceptions
from tiny_llm_course.syllabus import Address, foundations, task_at


@dataclass(frozen=True)
class Score:
    """How well the tests of one task tell right from wrong.

    Attributes:
        task: The task.
        num_wrong: Number of known mistakes.
        num_right: Number of right variants.
        not_rejected: Mistakes that pass every test.
        not_accepted: Right variants that fail, with the message.
        not_named: Mistakes that do not get their own sentence, with those they get.
        misplaced: Mistakes that fail a test of a task that does not build on this one,
            with that test.
    """

    task: Address
    num_wrong: int
    num_right: int
    not_rejected: tuple[str, ...]
    not_accepted: tuple[tuple[str, str], ...]
    not_named: tuple[tuple[str, str], ...]
    misplaced: tuple[tuple[str, str], ...] = ()

    @property
    def is_proven(self) -> bool:
        """Whether the tests reject, name and accept as they should."""
        return not (self.not_rejected or self.not_accepted or self.misplaced)


class Passed(Trial):
    """A test that the reference has passed, with the names that it uses noted."""

    def run(self, solution: Solution) -> VerdictError | None:
        """Run the test on a solution, unless all that it uses is the reference's."""
        if isinstance(solution, Overlay) and solution.is_unchanged_in(self.symbols):
            return None
        return super().run(solution)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--scores`."""
    parser.addoption("--scores", type=Path, help="write a line for each task here")


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Run the tests on all known solutions of their tasks."""
    path, trials = session.config.getoption("--scores"), trials_of(session)
    assert isinstance(path, Path)
    # Some tests collect garbage, and would look through all modules each time.
    gc.collect()
    gc.freeze()
    for task in dict.fromkeys(trial.task for trial in trials):
        append_score(path, score(task, trials))


def trials_of(session: pytest.Session) -> list[Trial]:
    """Return the graded tests that have run, to be run again on other solutions.

    The reference has passed with annotations checked. Learners' code runs without, and
    so does a reference that is imported anew.
    """
    load_solution("ref")
    outcomes = session.config.stash[OUTCOMES].values()
    return [Passed(**vars(one.trial)) for of_task in outcomes for one in of_task]


def append_score(path: Path, one: Score) -> None:
    """Add a score to a file, as a line of JSON."""
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(asdict(one)) + "\n")


def read_scores(path: Path) -> list[Score]:
    """Read the scores of a file."""
    return [_score(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _score(line: str) -> Score:
    entry = json.loads(line)
    return Score(task=Address(**entry.pop("task")), **entry)


def score(task: Address, trials: Sequence[Trial]) -> Score:
    """Run the tests of a task on all its known solutions.

    Args:
        task: The task.
        trials: Its tests, and those of other tasks.
    """
    wrong, right = misconceptions(task), accepted(task)
    own = [trial for trial in trials if trial.task == task]
    return Score(
        task,
        len(wrong),
        len(right),
        tuple(one.name for one in wrong if not _first_failure(_outcomes(one, own))),
        tuple(
            (one.name, failure)
            for one in right
            if (failure := _first_failure(_outcomes(one, own)))
        ),
        tuple(
            (one.name, " and ".join(each.name for each in named) or "none")
            for one in wrong
            if (named := _named(one, own, wrong)) != [one]
        ),
        tuple(
            (one.name, trial.test)
            for one in wrong
            if (trial := _failed_elsewhere(one, trials))
        ),
    )


def _named(
    one: Specimen, trials: Sequence[Trial], known: Sequence[Specimen]
) -> list[Specimen]:
    """Return the mistakes that are named where a solution makes a known one.

    `explain` begins with the first failing test. Of the mistakes that fail it exactly
    alike, it names those that no other test tells from the solution. Each mistake has
    run until its own first failure, which tells most of them from each other.
    """
    outcomes = _outcomes(one, trials)
    first = next((it for it in outcomes if it.verdict and it.verdict.evidence), None)
    if first and tells(one, first, has_passed=False):
        alike = known
        for outcome in _outcomes(one, trials):
            alike = [each for each in alike if does_the_same(each, outcome)]
            if outcome == first:
                alike = [it for it in alike if tells(it, first, has_passed=False)]
            if alike == [one]:
                break
        if one in alike:
            return [*alike]
    return explain([*_outcomes(one, trials)], known)


def _failed_elsewhere(one: Specimen, trials: Sequence[Trial]) -> Trial | None:
    """Find a test of another task of the day that a mistake fails.

    Only tests that use the replaced name are run. Tasks that build on this one may
    fail, and a mistake may belong to several tasks.
    """
    day = (one.task.week, one.task.day)
    for trial in trials:
        if (trial.task.week, trial.task.day) != day:
            continue
        may_fail = ({trial.task} | foundations(task_at(trial.task))) & one.tasks
        if one.symbol in trial.symbols and not may_fail and verdict_on(one, trial):
            return trial
    return None


def _outcomes(one: Specimen, trials: Sequence[Trial]) -> Iterator[Outcome]:
    """Run the tests of a task on one known solution, each when it is asked for."""
    return (Outcome(trial, verdict_on(one, trial)) for trial in trials)


def _first_failure(outcomes: Iterable[Outcome]) -> str:
    """Return the message of the first failing test, or an empty text."""
    return next((str(one.verdict) for one in outcomes if one.verdict), "")
