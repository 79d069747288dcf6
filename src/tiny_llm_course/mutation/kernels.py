"""Runs the mutants of the kernels in C++."""

from collections.abc import Sequence

from tiny_llm_course.mutation.proof import MutantScore
from tiny_llm_course.syllabus import Day


def prove(days: Sequence[Day]) -> list[MutantScore]:
    """Return a score for each day that has kernels."""
    del days
    return []
