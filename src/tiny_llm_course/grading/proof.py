"""Proves the tests: every known mistake fails and is named, every right way passes."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from tiny_llm_course.grading.diagnosis import Outcome, explain, verdict_on
from tiny_llm_course.grading.trial import Trial
from tiny_llm_course.specimens import Specimen, misconceptions, right_variants
from tiny_llm_course.syllabus import Address


@dataclass(frozen=True)
class Score:
    """How well the tests of one task tell right from wrong.

    Attributes:
        task: The task.
        num_wrong: Number of known mistakes.
        num_right: Number of right variants.
        not_rejected: Mistakes that pass every test.
        not_accepted: Right variants that fail, and what they were told.
        not_named: Mistakes that do not get their own sentence, and whose they get.
    """

    task: Address
    num_wrong: int
    num_right: int
    not_rejected: tuple[str, ...]
    not_accepted: tuple[tuple[str, str], ...]
    not_named: tuple[tuple[str, str], ...]


def append_score(path: Path, one: Score) -> None:
    """Add a score to a file, as a line of JSON."""
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(asdict(one)) + "\n")


def read_scores(path: Path) -> list[Score]:
    """Read the scores of a file."""
    return [_score(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _score(line: str) -> Score:
    """Read one score."""
    entry = json.loads(line)
    return Score(task=Address(**entry.pop("task")), **entry)


def score(task: Address, trials: Sequence[Trial]) -> Score:
    """Run the tests of a task on everything that is known about it."""
    wrong, right = misconceptions(task), right_variants(task)
    outcomes = {one.name: _outcomes(one, trials) for one in wrong}
    return Score(
        task,
        len(wrong),
        len(right),
        tuple(name for name, own in outcomes.items() if not _first_failure(own)),
        tuple(
            (one.name, failure)
            for one in right
            if (failure := _first_failure(_outcomes(one, trials)))
        ),
        tuple(
            (name, " and ".join(named) or "none")
            for name, own in outcomes.items()
            if (named := [one.name for one in explain(own, wrong)]) != [name]
        ),
    )


def _outcomes(one: Specimen, trials: Sequence[Trial]) -> list[Outcome]:
    """Run all tests of a task on one known solution."""
    return [Outcome(trial, verdict_on(one, trial)) for trial in trials]


def _first_failure(outcomes: Sequence[Outcome]) -> str:
    """Return what the first failing test says, or an empty text."""
    return next((str(one.verdict) for one in outcomes if one.verdict), "")
