"""What a misconception is, and how to find those of a task."""

import functools
import importlib
import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from tiny_llm_course.places import REFERENCE
from tiny_llm_course.solution import Solution
from tiny_llm_course.syllabus import Address

_MARK = "__misconception__"

T = TypeVar("T")


@dataclass(frozen=True)
class Misconception:
    """A wrong solution of one task: right in all but one idea.

    Attributes:
        task: The task that it gets wrong, and whose tests reject it.
        symbol: The public name that it takes the place of.
        says: What the learner did, what that does to the numbers, what is right.
        implementation: The wrong function or class.
    """

    task: Address
    symbol: str
    says: str
    implementation: Any

    @property
    def name(self) -> str:
        """The name of the function or class."""
        return self.implementation.__name__

    def as_solution(self) -> "Overlay":
        """Return the reference solution with this mistake in it."""
        return Overlay(self.symbol, self.implementation)


class Overlay(Solution):
    """The reference solution with one public name replaced.

    Args:
        symbol: The name to replace, as "file.name".
        implementation: What takes its place.
    """

    def __init__(self, symbol: str, implementation: Any) -> None:  # noqa: ANN401
        self.folder = REFERENCE
        self.package = REFERENCE.name
        self._symbol = symbol
        self._implementation = implementation

    def get(self, symbol: str) -> Any:  # noqa: ANN401 - any public name
        """Return a public name, or what replaces it."""
        return self._implementation if symbol == self._symbol else super().get(symbol)


def misconception(*, task: int, symbol: str, says: str) -> Callable[[T], T]:
    """Mark a function or class as a wrong solution.

    Args:
        task: Number of the task. Week and day are in the name of the module.
        symbol: The public name that it takes the place of.
        says: The sentence that a learner reads.
    """

    def mark(implementation: T) -> T:
        module = implementation.__module__.rsplit(".", 1)[-1]
        address = Address.parse(f"{module} {task}")
        setattr(
            implementation, _MARK, Misconception(address, symbol, says, implementation)
        )
        return implementation

    return mark


@functools.cache
def of_task(task: Address) -> tuple[Misconception, ...]:
    """Return the misconceptions of a task, in the order of their module."""
    name = f"{__package__}.week_{task.week}_day_{task.day}"
    if not importlib.util.find_spec(name):
        return ()
    members = vars(importlib.import_module(name)).values()
    found = [
        vars(one)[_MARK] for one in members if _MARK in getattr(one, "__dict__", {})
    ]
    return tuple(one for one in found if one.task == task)
