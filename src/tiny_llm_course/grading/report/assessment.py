"""Grades some days, and finds the tasks that failures come from."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from tiny_llm_course.catalogue import say
from tiny_llm_course.editing.lookup import absence
from tiny_llm_course.grading.engine import session
from tiny_llm_course.grading.engine.launch import Launch, start
from tiny_llm_course.grading.engine.not_begun import (
    broken,
    not_compiled,
    results_of,
    split,
)
from tiny_llm_course.grading.engine.remarks import library_calls
from tiny_llm_course.grading.report.standing import (
    TaskReport,
    standings,
    unknown_foundations,
)
from tiny_llm_course.grading.results import Results
from tiny_llm_course.solution import load_solution
from tiny_llm_course.syllabus import Day, Task, select_days


def assess(
    days: Sequence[Day], solution: str, pytest_args: Sequence[str] = ()
) -> list[TaskReport]:
    """Grade some days. If a task fails, also grade the tasks that it builds on.

    Args:
        days: What to grade.
        solution: The solution to grade: a package or a folder.
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
    return _with_remarks(standings(days, results), results, folder)


def tasks_asked_for(
    days: Sequence[Day], pytest_args: Sequence[str]
) -> list[Task] | None:
    """Return the tasks that `pytest_args` select, or None if only pytest can tell."""
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
    """Grade only these tasks, as fast as possible."""
    folder = load_solution(solution).folder
    results = _grade_tasks(tasks, solution, launch)
    reports = standings(select_days(None, None), results)
    return _with_remarks(reports, results, folder)


def _grade_tasks(tasks: Sequence[Task], solution: str, launch: Launch) -> Results:
    """Run the tests of some tasks, except where reading the files gives the result."""
    folder = load_solution(solution).folder
    begun, not_begun = split(tasks, folder)
    results = results_of(not_begun).joined_with(broken(begun, folder))
    begun = [task for task in begun if str(task.address) not in results.tests]
    if not begun:
        return results
    addresses = {(task.address.week, task.address.day) for task in begun}
    days = [
        day for day in select_days(None, None) if (day.week, day.number) in addresses
    ]
    graded = session.grade(days, solution, tasks=begun, launch=launch)
    return results.joined_with(graded).joined_with(not_compiled(begun, folder))


def _with_remarks(
    reports: Sequence[TaskReport], results: Results, folder: Path
) -> list[TaskReport]:
    """Add remarks to the verdicts.

    Remarks on a task name each library operation that does its work. Those on the
    solution, failed imports and a process that ended early, go to the first task.
    """
    found = [_library_calls(report, folder) for report in reports]
    if found:
        found[0] = [*_of_all(results), *found[0]]
    return [
        replace(report, remarks=tuple(remarks), absent=_absent(report.task, folder))
        for report, remarks in zip(reports, found, strict=True)
    ]


def _of_all(results: Results) -> Iterator[str]:
    """Yield the remarks on the solution and on the process."""
    for one in dict.fromkeys(results.failed_imports):
        yield say("report.failed_import", **asdict(one))
    for one in results.endings:
        if one.how:
            yield say("grading.ended_late", how=one.how)


def _absent(task: Task, folder: Path) -> tuple[str, ...]:
    """Return a message for each Python part of a task that is missing."""
    found = (absence(folder, symbol) for symbol in task.symbols)
    return tuple(dict.fromkeys(filter(None, found)))


def _library_calls(report: TaskReport, folder: Path) -> list[str]:
    """Return a remark on each library operation that does the work of a task."""
    address = report.task.address
    return [
        say("report.remark", address=address.named, file=file, operation=operation)
        for file, operation in library_calls(report.task, folder)
    ]
