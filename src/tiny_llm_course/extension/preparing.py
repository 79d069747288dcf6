"""Compiles the kernels before they are graded."""

import sys
from collections.abc import Sequence

from tiny_llm_course.catalogue import say
from tiny_llm_course.errors import CourseError
from tiny_llm_course.extension.building import build, is_current
from tiny_llm_course.extension.sources import sources_of
from tiny_llm_course.solution import load_solution
from tiny_llm_course.syllabus import Day


def prepare(days: Sequence[Day], solution: str) -> None:
    """Compile the kernels of a solution, if some days have kernels.

    Compiler errors are reported by the tests that call a kernel. A missing compiler is
    reported here.

    Args:
        days: The days to grade.
        solution: The solution to grade: a package or a folder.
    """
    if not any(task.kernels for day in days for task in day.tasks):
        return
    folder = load_solution(solution).folder
    kernels = sources_of(folder)
    if kernels is None or is_current(folder):
        return
    if sys.stderr.isatty():
        print(say("extension.compiling", sources=kernels.name), file=sys.stderr)
    try:
        build(folder)
    except CourseError as error:
        print(say("extension.not_graded", reason=error), file=sys.stderr)
