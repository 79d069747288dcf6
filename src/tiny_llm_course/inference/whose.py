"""Chooses whose code runs: ours, the learner's, or a mixture of both."""

import faulthandler
import sys
from collections.abc import Iterable, Sequence

from tiny_llm_course import progress
from tiny_llm_course.catalogue import say
from tiny_llm_course.editing.lookup import is_untouched
from tiny_llm_course.errors import CourseError
from tiny_llm_course.inference.blame import blame
from tiny_llm_course.inference.mixture import Mixture
from tiny_llm_course.places import REFERENCE, Checkout, here
from tiny_llm_course.progress import CLOSED
from tiny_llm_course.solution import Solution, load_solution
from tiny_llm_course.syllabus import Task, symbols, tasks_of


def choose(
    name: str | None,
    *,
    only_mine: bool,
    attempts: bool,
    together: Sequence[frozenset[str]] = (),
) -> Solution:
    """Load a solution, with our parts in place of what a learner has not finished.

    Args:
        name: As for `load_solution`. None is ours, or the learner's if one of the next
            two is chosen.
        only_mine: Whether to leave unfinished parts as they are.
        attempts: Whether to use all parts that the learner has begun.
        together: Groups of symbols that fit only each other: each group is the
            learner's as a whole, or ours.

    Raises:
        CourseError: There is no such solution, or it is not the learner's.
        SolutionError: A file of the learner cannot be imported.
    """
    is_about_mine = only_mine or attempts
    solution = load_solution(name or ("tiny_llm" if is_about_mine else "ref"))
    if solution.folder != REFERENCE:
        _show_where_it_ends()
    checkout = here()
    is_learners = solution.folder == checkout.starter.resolve()
    if only_mine and attempts:
        raise CourseError(say("commands.talking.two_ways"))
    if attempts and not is_learners:
        raise CourseError(say("commands.talking.not_learners", name=name))
    if only_mine or not is_learners:
        return solution
    yours = begun(checkout) if attempts else finished(checkout)
    with blame(solution):
        return Mixture(solution.folder, solution.package, whole(yours, together))


def _show_where_it_ends() -> None:
    """Make Python print its stack if the solution crashes it.

    The solution runs in our own process, which needs the terminal and Ctrl-C.
    """
    if sys.__stderr__:
        faulthandler.enable(sys.__stderr__, all_threads=False)


def finished(checkout: Checkout) -> list[str]:
    """Return the symbols whose tasks are done, or skipped: they are in the files.

    A symbol of several tasks of a day, such as a sampler, counts when all are done.

    Raises:
        CourseError: The progress file was damaged, and is empty now.
    """
    known, damaged = progress.load(checkout)
    if damaged:
        raise CourseError(say("commands.damaged", copy=checkout.link(damaged)))
    standing = progress.statuses(checkout, known)
    return [
        symbol
        for symbol in symbols()
        if all(standing[task] in CLOSED for task in _first_tasks(symbol))
    ]


def begun(checkout: Checkout) -> list[str]:
    """Return the symbols that are no longer stubs, right or wrong."""
    return [symbol for symbol in symbols() if not is_untouched(checkout, symbol)]


def whole(yours: Iterable[str], together: Sequence[frozenset[str]]) -> set[str]:
    """Return the learner's symbols, without groups of which some are missing."""
    found = set(yours)
    return found.difference(*(group for group in together if not group <= found))


def _first_tasks(symbol: str) -> list[Task]:
    """Return the tasks of the first day on which a symbol is written."""
    found = tasks_of(symbol)
    return [one for one in found if _day(one) == _day(found[0])]


def _day(task: Task) -> tuple[int, int]:
    """Return week and day of a task."""
    return task.address.week, task.address.day
