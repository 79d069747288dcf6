"""The changes of a text as known mistakes: run when no record explains a failure."""

import ast
import functools
import re
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Any

from tiny_llm_course.catalogue import say
from tiny_llm_course.composed_mistakes.change import Change
from tiny_llm_course.composed_mistakes.changes import changes_of
from tiny_llm_course.composed_mistakes.tables import FAMILIES
from tiny_llm_course.composed_mistakes.text import Text, text_of, text_of_variant
from tiny_llm_course.solution import Solution
from tiny_llm_course.specimens import Overlay, Specimen, accepted
from tiny_llm_course.syllabus import Address, task_at

USUAL = (
    *("not_transposed", "left_out", "not_handed_on", "no_sum", "reshaped", "instead"),
    *("exchanged", "cut_otherwise", "joined_otherwise", "no_product", "in_float32"),
    *("no_quotient", "turned", "operator", "no_axis", "whole", "never", "none"),
    "fixed",
)
"""Kinds of changes that are tried two at a time, those that are made most first."""

KIND_OF = {name: family[0] for family in reversed(FAMILIES) for name in family}
"""One name for all of a family."""


@dataclass(frozen=True, eq=False)
class Composed:
    """A right way to write a public name, but for one change, or two.

    Attributes:
        task: The task whose tests judge it.
        symbol: The public name.
        text: The right way.
        changes: What is wrong with it. None of them stands inside another.
        record: The known mistake whose text it is, if it is no right way.
    """

    task: Address
    symbol: str
    text: Text
    changes: tuple[Change, ...]
    record: Specimen | None = None

    @property
    def name(self) -> str:
        """The kinds of what is wrong. The book has no place for it."""
        return "composed: " + ", ".join(dict.fromkeys(one.kind for one in self.changes))

    @property
    def says(self) -> str:
        """What a learner reads whose solution does what this one does."""
        known = [self.record.says.strip()] if self.record else []
        told = [*known, *(sentence(one) for one in self.changes)]
        return "\n".join(dict.fromkeys(told))

    @property
    def rank(self) -> int:
        """How many kinds of mistakes are more usual."""
        kind = self.changes[0].kind
        return USUAL.index(kind) if kind in USUAL else len(USUAL)

    @property
    def is_ours(self) -> bool:
        """Whether it is a change of the reference, and not of another way."""
        return self.text is text_of(self.symbol)

    @property
    def is_usual(self) -> bool:
        """Whether people make it so often that they make another beside it."""
        return self.rank < len(USUAL)

    def and_also(self, other: "Composed") -> "Composed | None":
        """Return both mistakes at once, or None where that makes no program."""
        if self.text is not other.text:
            return None
        both = (*self.changes, *other.changes)
        return Composed(self.task, self.symbol, self.text, both)

    @functools.cached_property
    def implementation(self) -> Any:  # noqa: ANN401 - anything that is wrong
        """The function or class, or None if the changes make no program of it."""
        before = [one.slot.node for one in self.changes]
        for one in self.changes:
            one.slot.put(one.node)
        try:
            code = self.text.compiled()
        except (SyntaxError, TypeError, ValueError):
            return None
        finally:
            for one, node in zip(reversed(self.changes), reversed(before), strict=True):
                one.slot.put_back(node)
        try:
            return self.text.run(code)
        except (NameError, AttributeError, TypeError):
            return None

    def as_solution(self) -> Solution:
        """Return the reference solution with this name replaced."""
        return Overlay(self.symbol, self.implementation)


def sentence(change: Change) -> str:
    """Explain a change."""
    words = say(f"composed.kinds.{change.kind}", **change.words)
    return words[0].upper() + words[1:]


@functools.cache
def composed(task: Address) -> tuple[Composed, ...]:
    """Return all mistakes that one change makes of the right ways to do a task.

    What is usual comes first, and the reference before other ways: another way is
    written with names that a learner knows less.
    """
    mistakes = [
        Composed(task, symbol, text, changes)
        for symbol, text in _texts(task)
        for changes in _sets_of_changes(text)
    ]
    return tuple(sorted(mistakes, key=lambda one: (not one.is_ours, one.rank)))


@functools.cache
def beside(record: Specimen) -> tuple[Composed, ...]:
    """Return what a known mistake becomes by one usual change more."""
    text = text_of_variant(record)
    if text is None:
        return ()
    found = [
        Composed(record.task, record.symbol, text, (change,), record)
        for change in changes_of(text)
        if change.kind in USUAL
    ]
    return tuple(sorted(found, key=lambda one: one.rank))


def _sets_of_changes(text: Text) -> Iterator[tuple[Change, ...]]:
    """Yield each change of a text, and those that somebody makes at several places."""
    alike: dict[Hashable, list[Change]] = {}
    for change in changes_of(text):
        yield (change,)
        if isinstance(change.slot.node, ast.expr):
            places = _folded(change.slot.node), _folded(change.node)
            alike.setdefault((change.kind, *places), []).append(change)
    yield from (tuple(one) for one in alike.values() if len(one) > 1)


def _folded(node: ast.AST) -> str:
    """Write a node, names of one kind as one."""
    return re.sub(
        r"[A-Za-z_]\w*", lambda name: KIND_OF.get(name[0], name[0]), ast.unparse(node)
    )


def _texts(task: Address) -> Iterator[tuple[str, Text]]:
    """Yield the public names of a task with the texts of the right ways to write it."""
    symbols = task_at(task).symbols
    for symbol in symbols:
        if text := text_of(symbol):
            yield symbol, text
    for variant in accepted(task):
        if variant.symbol in symbols and (text := text_of_variant(variant)):
            yield variant.symbol, text
