"""What our pytest plugin keeps of a run."""

import pytest

from tiny_llm_course.grading import results
from tiny_llm_course.grading.judgement.call import Call
from tiny_llm_course.grading.judgement.trial import Outcome
from tiny_llm_course.grading.judgement.underway import Underway
from tiny_llm_course.solution import Solution
from tiny_llm_course.syllabus import Address

OUTCOMES = pytest.StashKey[dict[Address, list[Outcome]]]()
"""The outcomes of all graded tests of this run, by task."""

INTERFACES = pytest.StashKey[dict[Address, tuple[Call, str]]]()
"""By task: the first failing call whose parameters differ from ours, and how."""

UNDERWAY = pytest.StashKey[Underway]()
"""The call that is running, or was run last."""

SOLUTION = pytest.StashKey[Solution]()
"""The solution under test."""

EXPLAINED = pytest.StashKey[dict[tuple[Address, int], list[results.Explanation]]]()
"""What was found out about a task, by it and its number of outcomes."""


def failed_tasks(config: pytest.Config) -> list[Address]:
    """Return the tasks of which some test has failed, as far as they have run."""
    return [
        task
        for task, outcomes in config.stash[OUTCOMES].items()
        if any(one.verdict for one in outcomes)
    ]
