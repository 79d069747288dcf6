"""Known solutions of a task, wrong and right, which prove that the tests can tell."""

import functools
import importlib
import importlib.util
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from tiny_llm_course.catalogue import say
from tiny_llm_course.places import REFERENCE
from tiny_llm_course.records.record import (
    MISTAKES,
    RIGHT_WAYS,
    Record,
    records,
)
from tiny_llm_course.solution import Solution
from tiny_llm_course.syllabus import Address, task_at, tasks

_MARK = "__specimens__"

T = TypeVar("T")


@dataclass(frozen=True)
class Specimen:
    """A way to write one public name, for one task: all else is the reference.

    Attributes:
        task: The task whose tests judge it.
        symbol: The public name that it takes the place of.
        implementation: The function or class, or the record that makes it.
    """

    task: Address
    symbol: str
    implementation: Any

    @property
    def name(self) -> str:
        """The name of the function or class, or of the record."""
        if isinstance(self.implementation, Record):
            return self.implementation.name
        return self.implementation.__name__

    @property
    def tasks(self) -> set[Address]:
        """All tasks that it is marked for, this one among them."""
        if isinstance(self.implementation, Record):
            numbers = self.implementation.tasks
            return {replace(self.task, task=number) for number in numbers}
        marked: tuple[Specimen, ...] = getattr(self.implementation, _MARK)
        return {one.task for one in marked}

    @property
    def says(self) -> str:
        """What a learner reads whose solution does what this wrong one does."""
        return say(f"{task_at(self.task).files}.misconceptions.{self.name}")

    @property
    def anchor(self) -> str:
        """Where the book explains it."""
        return f"{task_at(self.task).chapter}#{self.name.replace('_', '-')}"

    @functools.cache  # noqa: B019 - known solutions are as many as they are
    def as_solution(self) -> Solution:
        """Return the reference solution with this name replaced, always the same."""
        if isinstance(self.implementation, Record):
            return Overlay(self.symbol, self.implementation.made)
        return Overlay(self.symbol, self.implementation)

    def put_in(self, folder: Path) -> None:
        """Let a copy of the reference make this mistake: in its files, as learners do.

        Args:
            folder: The copy.
        """
        file, symbol = self.symbol.split(".")
        path = folder / f"{file}.py"
        path.write_text(
            path.read_text(encoding="utf-8")
            + "\n\nfrom tiny_llm_course.specimens import mistake  # noqa: E402\n\n"
            + f"{symbol} = mistake({task_at(self.task).files!r}, {self.name!r})\n",
            encoding="utf-8",
        )


class Overlay(Solution):
    """The reference solution with one public name replaced.

    Args:
        symbol: The public name.
        implementation: What takes its place.
    """

    def __init__(self, symbol: str, implementation: object) -> None:
        self.folder = REFERENCE
        self.package = REFERENCE.name
        self._replaced = {symbol: implementation}

    def get(self, symbol: str) -> Any:  # noqa: ANN401 - any public name
        """Return a public name, or what replaces it."""
        if symbol in self._replaced:
            return self._replaced[symbol]
        return super().get(symbol)

    def is_unchanged_in(self, symbols: Collection[str]) -> bool:
        """Tell whether these public names are those of the reference."""
        return self._replaced.keys().isdisjoint(symbols)


UNCHANGED = Overlay("", None)
"""The reference, with nothing replaced."""


def specimen(*tasks: int, symbol: str) -> Callable[[T], T]:
    """Mark a function or class as a known solution.

    Week and day are in the name of its module, right or wrong in that of its package.
    The sentence that explains a wrong one stands in the catalogue, under its name.

    Args:
        *tasks: The tasks of that day that it belongs to.
        symbol: The public name that it takes the place of.
    """

    def mark(implementation: T) -> T:
        module = implementation.__module__.rsplit(".", 1)[-1]
        day = module.partition("_task_")[0]
        found = [
            Specimen(Address.parse(f"{day} {task}"), symbol, implementation)
            for task in tasks
        ]
        setattr(implementation, _MARK, tuple(found))
        return implementation

    return mark


@functools.cache
def misconceptions(task: Address) -> tuple[Specimen, ...]:
    """Return the known wrong solutions of a task."""
    return _known(MISTAKES, task)


@functools.cache
def accepted(task: Address) -> tuple[Specimen, ...]:
    """Return other right solutions of a task."""
    return _known(RIGHT_WAYS, task)


def mistake(files: str, name: str) -> Any:  # noqa: ANN401 - a function or a class
    """Return a known wrong solution by its name, as the book runs it.

    Args:
        files: What the file of its day is called, such as week_1_day_4_task_3.
        name: Of the mistake.
    """
    for task in tasks():
        for one in misconceptions(task.address) if task.files == files else ():
            if one.name == name:
                return one.as_solution().get(one.symbol)
    raise LookupError(f"{files}: there is no mistake {name}")


def _known(kind: str, task: Address) -> tuple[Specimen, ...]:
    """Return known solutions of a task: records, then what has a module."""
    files = task_at(task).files
    recorded = (
        Specimen(task, one.symbol, one)
        for one in records(kind, files)
        if task.task in one.tasks
    )
    return (*recorded, *_marked(f"{__package__}.{kind}.{files}", task))


def _marked(name: str, task: Address) -> tuple[Specimen, ...]:
    """Collect what a module marks as belonging to a task, if there is one."""
    if not importlib.util.find_spec(name):
        return ()
    module = importlib.import_module(name)
    marked: list[Specimen] = []
    for member in vars(module).values():
        # A subclass inherits the mark of its parent, which is not its own.
        if getattr(member, "__module__", "") == name:
            marked += vars(member).get(_MARK, ())
    return tuple(one for one in marked if one.task == task)
