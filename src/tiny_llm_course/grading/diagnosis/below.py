"""Whether a task fails because of the tasks that it builds on."""

import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from types import ModuleType

from tiny_llm_course.grading.judgement.trial import Outcome
from tiny_llm_course.solution import BrokenFileError, Solution
from tiny_llm_course.specimens import UNCHANGED
from tiny_llm_course.syllabus import Address, foundations, task_at
from tiny_llm_course.unsolved import Unsolved


def comes_from_below(
    outcomes: Sequence[Outcome], task: Address, solution: Solution
) -> bool:
    """Tell whether the first failing test passes with our parts of the tasks below.

    A block that drops the mask makes a model fail as one does that never gives it.

    Args:
        outcomes: Of all tests of one task.
        task: The task.
        solution: What was graded.
    """
    failed = next((one.trial for one in outcomes if one.verdict), None)
    below = foundations(task_at(task))
    if failed is None or not below:
        return False
    symbols = {symbol for one in below for symbol in task_at(one).symbols}
    with _lent(symbols - set(task_at(task).symbols), solution):
        return failed.run(solution) is None


@contextmanager
def _lent(symbols: set[str], solution: Solution) -> Generator[None]:
    """Put ours in the place of some public names, wherever its files hold them."""
    pairs = [(_found(one, solution), UNCHANGED.get(one)) for one in sorted(symbols)]
    places = [
        (module, name, value, ours)
        for module in _files_of(solution)
        for name, value in list(vars(module).items())
        for own, ours in pairs
        if own is not None and value is own
    ]
    for module, name, _, ours in places:
        setattr(module, name, ours)
    try:
        yield
    finally:
        for module, name, own, _ in places:
            setattr(module, name, own)


def _found(symbol: str, solution: Solution) -> object | None:
    """Return a public name of a solution, if it is there."""
    try:
        return solution.get(symbol)
    except (Unsolved, BrokenFileError):
        return None


def _files_of(solution: Solution) -> list[ModuleType]:
    """Return the files of a solution that are imported."""
    prefix = f"{solution.package}."
    return [one for name, one in sys.modules.items() if name.startswith(prefix)]
