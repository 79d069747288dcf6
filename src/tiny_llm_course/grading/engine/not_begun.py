"""Tasks of stubs, or in files that are no Python: known without running a test."""

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
    """Return the tasks of a solution that are begun, and those that are not."""
    begun = [task for task in tasks if not _is_all_stubs(task, folder)]
    return begun, [task for task in tasks if task not in begun]


def results_of(tasks: Sequence[Task]) -> Results:
    """Say of each task that it is not started, in the words of its stub."""
    found = [
        Result(str(task.address), str(task.address), NOT_STARTED, _words_of_stub(task))
        for task in tasks
    ]
    return Results({one.test: one for one in found}, {})


def broken(tasks: Sequence[Task], folder: Path) -> Results:
    """Say of each task whose file is no Python where it breaks."""
    found: dict[str, Result] = {}
    for task in tasks:
        complaints = filter(None, (_complaint(folder, one) for one in task.symbols))
        for complaint in complaints:
            address = str(task.address)
            found[address] = Result(address, address, BROKEN, complaint)
            break
    return Results(found, {})


def not_compiled(tasks: Sequence[Task], folder: Path) -> Results:
    """Say of each task with kernels why these do not compile, if they do not.

    Its tests may wait for another task before they come to call a kernel.
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
    """Say why the file of a symbol cannot be read, if it cannot."""
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
    """Return what the first stub raises. It names the first task that it is for."""
    return tasks_of(task.parts[0])[0].not_started()


def _is_all_stubs(task: Task, folder: Path) -> bool:
    """Tell whether nothing of a task is there, in files that can be read.

    Of a file that cannot, a test says what is wrong with it.
    """
    in_cpp = sources_of(folder)
    return all(is_stub_in(folder, one) for one in task.symbols) and all(
        in_cpp is not None and is_stub_in(in_cpp, one) for one in task.kernels
    )
