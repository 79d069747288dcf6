"""The changes of a text as known mistakes: run when no record explains a failure."""

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tiny_llm_course.catalogue import say
from tiny_llm_course.composed.changes import Change, changes_of
from tiny_llm_course.composed.text import text_of
from tiny_llm_course.solution import Solution
from tiny_llm_course.specimens import Overlay
from tiny_llm_course.syllabus import Address, task_at

USUAL = {
    *("left_out", "not_handed_on", "exchanged", "not_transposed", "reshaped", "turned"),
    *("no_sum", "no_product", "no_quotient", "in_float32", "instead", "cut_otherwise"),
}
"""Kinds of changes that are tried two at a time."""


@dataclass(frozen=True, eq=False)
class Composed:
    """The reference's own way to write a public name, but for one change, or two.

    Attributes:
        task: The task whose tests judge it.
        symbol: The public name.
        implementation: The function or class.
        changes: What is wrong with it.
    """

    task: Address
    symbol: str
    implementation: Any
    changes: tuple[Change, ...]

    @property
    def name(self) -> str:
        """The kinds of what is wrong. The book has no place for it."""
        return "composed: " + ", ".join(one.kind for one in self.changes)

    @property
    def says(self) -> str:
        """What a learner reads whose solution does what this one does."""
        return "\n".join(sentence(one) for one in self.changes)

    @property
    def is_usual(self) -> bool:
        """Whether people make it so often that they make another beside it."""
        return all(one.kind in USUAL for one in self.changes)

    def and_also(self, other: "Composed") -> "Composed | None":
        """Return both mistakes at once, or None where that makes no program."""
        if self.symbol != other.symbol:
            return None
        return with_changes(self.task, self.symbol, *self.changes, *other.changes)

    def as_solution(self) -> Solution:
        """Return the reference solution with this name replaced."""
        return Overlay(self.symbol, self.implementation)


def sentence(change: Change) -> str:
    """Explain a change."""
    words = say(f"composed.kinds.{change.kind}", **change.words)
    return words[0].upper() + words[1:]


@functools.cache
def composed(task: Address) -> tuple[Composed, ...]:
    """Return all mistakes that one change makes of the reference's way to do a task."""
    return tuple(
        one for symbol in task_at(task).symbols for one in _of_symbol(task, symbol)
    )


def _of_symbol(task: Address, symbol: str) -> Iterator[Composed]:
    """Yield the mistakes of one public name."""
    text = text_of(symbol)
    if text is None:
        return
    for change in changes_of(text):
        if found := with_changes(task, symbol, change):
            yield found


def with_changes(task: Address, symbol: str, *changes: Change) -> Composed | None:
    """Make a mistake of some changes, or None if they make no program.

    Args:
        task: The task.
        symbol: Whose text is changed.
        changes: None of which stands inside another.
    """
    text = text_of(symbol)
    assert text is not None
    before = [one.slot.node for one in changes]
    for one in changes:
        one.slot.put(one.node)
    try:
        code = text.compiled()
    except (SyntaxError, TypeError, ValueError):
        return None
    finally:
        for one, node in zip(reversed(changes), reversed(before), strict=True):
            one.slot.put(node)
    try:
        return Composed(task, symbol, text.run(code), changes)
    except (NameError, AttributeError, TypeError):
        return None
