"""Finds tasks that are stubs or cannot be read, without running a test."""

import ast
from collections.abc import Sequence
from pathlib import Path

from tiny_llm_course import solution
from tiny_llm_course.catalogue import say
from tiny_llm_course.editing.lookup import is_stub_in
from tiny_llm_course.extension.building import problem_of
from tiny_llm_course.extension.output import first_error
from tiny_llm_course.extension.sources import sources_of
from tiny_llm_course.grading.results import BROKEN, NOT_STARTED, Result, Results
from tiny_llm_course.syllabus import Task, tasks_of


def split(tasks: Sequence[Task], folder: Path) -> tuple[list[Task], list[Task]]:
    """Split tasks into those that a solution has begun and those it has not."""
    begun = [task for task in tasks if not _is_all_stubs(task, folder)]
    return begun, [task for task in tasks if task not in begun]


def results_of(tasks: Sequence[Task]) -> Results:
    """Return a "not started" result for each task, with the message of its stub."""
    found = [
        Result(str(task.address), str(task.address), NOT_STARTED, _words_of_stub(task))
        for task in tasks
    ]
    return Results({one.test: one for one in found}, {})


def broken(tasks: Sequence[Task], folder: Path) -> Results:
    """Return a result for each task whose file is not valid Python, with the line."""
    found: dict[str, Result] = {}
    for task in tasks:
        complaints = filter(None, (_complaint(folder, one) for one in task.symbols))
        for complaint in complaints:
            address = str(task.address)
            found[address] = Result(address, address, BROKEN, complaint)
            break
    return Results(found, {})


def not_compiled(tasks: Sequence[Task], folder: Path) -> Results:
    """Return a result for each task whose kernels do not compile, with the reason.

    Running its tests might only report another task, before they call a kernel.
    """
    problem = problem_of(folder)
    message = say("grading.not_compiled", error=first_error(problem))
    found = [
        Result(str(task.address), f"{task.address}: compiled", BROKEN, message)
        for task in tasks
        if task.kernels and problem
    ]
    return Results({one.test: one for one in found}, {})


def _complaint(folder: Path, symbol: str) -> str:
    """Return why the file of a symbol cannot be parsed, if it cannot."""
    file = symbol.partition(".")[0]
    path = folder / f"{file}.py"
    try:
        ast.parse(path.read_bytes(), path.name)
    except FileNotFoundError:
        return ""
    except (SyntaxError, ValueError) as error:
        return solution.broken(file, error, folder)
    return ""


def _words_of_stub(task: Task) -> str:
    """Return the message of the first stub, which names the first of its tasks."""
    return tasks_of(task.parts[0])[0].not_started()


def _is_all_stubs(task: Task, folder: Path) -> bool:
    """Tell whether a task consists of stubs only, in files that can be parsed.

    For a file that cannot, a test reports what is wrong.
    """
    in_cpp = sources_of(folder)
    return all(is_stub_in(folder, one) for one in task.symbols) and all(
        in_cpp is not None and is_stub_in(in_cpp, one) for one in task.kernels
    )
