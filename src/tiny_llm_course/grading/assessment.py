"""Grades some days, and finds out what stands in the way of what fails."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from tiny_llm_course.catalogue import say
from tiny_llm_course.grading import session
from tiny_llm_course.grading.launch import Launch, start
from tiny_llm_course.grading.not_begun import results_of, split
from tiny_llm_course.grading.remarks import library_calls
from tiny_llm_course.grading.results import Results
from tiny_llm_course.grading.standing import (
    TaskReport,
    standings,
    unknown_foundations,
)
from tiny_llm_course.solution import load_solution
from tiny_llm_course.syllabus import Day, Task, select_days


def assess(
    days: Sequence[Day], solution: str, pytest_args: Sequence[str] = ()
) -> list[TaskReport]:
    """Grade some days. Where a task fails, grade what it builds on as well.

    Args:
        days: What to grade.
        solution: Whom to grade: a package or a folder.
        pytest_args: More arguments for pytest, such as `-k task_1`.

    Raises:
        CourseError: There is no such solution, or pytest cannot use its arguments.
    """
    folder = load_solution(solution).folder
    asked_for = tasks_asked_for(days, pytest_args)
    if asked_for:
        results = _grade_tasks(asked_for, solution, start)
    else:
        results = session.grade(days, solution, pytest_args)
    foundations = unknown_foundations(standings(days, results))
    if foundations:
        below = _grade_tasks(foundations, solution, start)
        results = below.joined_with(results)
    return _with_remarks(standings(days, results), folder, results)


def tasks_asked_for(
    days: Sequence[Day], pytest_args: Sequence[str]
) -> list[Task] | None:
    """Return the tasks that `pytest_args` leave, or None if only pytest can tell."""
    words = re.fullmatch(r"(?:(?:-q|-k ?task_(\d+))(?: |$))*", " ".join(pytest_args))
    if words is None:
        return None
    number = words[1]
    return [
        task
        for day in days
        for task in day.tasks
        if number in {None, str(task.address.task)}
    ]


def assess_tasks(
    tasks: Sequence[Task], solution: str, launch: Launch
) -> list[TaskReport]:
    """Grade some tasks and nothing else, as fast as it goes."""
    folder = load_solution(solution).folder
    results = _grade_tasks(tasks, solution, launch)
    return _with_remarks(standings(select_days(None, None), results), folder, results)


def _grade_tasks(tasks: Sequence[Task], solution: str, launch: Launch) -> Results:
    """Run the tests of some tasks of any days, but of those that are all stubs."""
    begun, not_begun = split(tasks, load_solution(solution).folder)
    results = results_of(not_begun)
    if not begun:
        return results
    addresses = {(task.address.week, task.address.day) for task in begun}
    days = [
        day for day in select_days(None, None) if (day.week, day.number) in addresses
    ]
    graded = session.grade(days, solution, tasks=begun, launch=launch)
    return results.joined_with(graded)


def _with_remarks(
    reports: list[TaskReport], folder: Path, results: Results
) -> list[TaskReport]:
    """Add what is worth saying, right or wrong.

    Of each task, that is which library operations do its work. Of all, that the process
    broke off, which stands with the first.
    """
    endings = [
        say("grading.ended_late", how=one.how) for one in results.endings if one.how
    ]
    remarks = [[*_library_remarks(report, folder)] for report in reports]
    if remarks:
        remarks[0] += endings
    return [
        replace(report, remarks=tuple(own))
        for report, own in zip(reports, remarks, strict=True)
    ]


def _library_remarks(report: TaskReport, folder: Path) -> Iterator[str]:
    """Yield a remark for each library operation that does the work of the task."""
    address = report.task.address
    for file, operation in library_calls(report.task, folder):
        yield say("report.remark", address=address, file=file, operation=operation)
