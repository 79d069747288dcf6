"""Batches of texts that come and go: who is in which slot, and when."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tiny_llm_course.catalogue import say
from tiny_llm_course.grading.judgement.closeness import Truth


@dataclass(frozen=True)
class Row:
    """A text that is in a slot for some steps.

    Attributes:
        slot: The number of the slot.
        num_read: How many tokens were read before.
        joins: The first step that it takes part in.
        leaves: The first that it does not. None stays to the end.
    """

    slot: int
    num_read: int
    joins: int = 0
    leaves: int | None = None


@dataclass(frozen=True)
class Batch:
    """What happens in the slots, step by step.

    Attributes:
        num_slots: How many there are, taken or idle.
        steps: How many new tokens each row gets in each step.
        rows: The texts.
    """

    num_slots: int
    steps: tuple[int, ...]
    rows: tuple[Row, ...]

    def num_tokens(self, row: Row) -> int:
        """Return how many tokens a text has when it leaves."""
        return row.num_read + sum(self.steps[row.joins : row.leaves])

    def num_before(self, row: Row, step: int) -> int:
        """Return how many tokens of a text the steps before have computed."""
        return row.num_read + sum(self.steps[row.joins : step])

    def longest(self, step: int) -> int:
        """Return how many tokens the longest row has in a step, the new ones too."""
        before = (self.num_before(row, step) for _, row in self.active(step))
        return self.steps[step] + max(before, default=0)

    def active(self, step: int) -> list[tuple[int, Row]]:
        """Return the texts that take part in a step, with their numbers."""
        return [
            (number, row)
            for number, row in enumerate(self.rows)
            if row.joins <= step and (row.leaves is None or step < row.leaves)
        ]

    def new_only(self, truths: Sequence[Truth], keep: int | None = None) -> Truth:
        """Join what is right for the tokens that the steps compute, text by text.

        Args:
            truths: Of each text, with its tokens along axis 1.
            keep: How many tokens of each step count, from its end. None counts all.
        """
        found = [
            [array[0, self._places(row, keep)] for array in _arrays(truth)]
            for row, truth in zip(self.rows, truths, strict=True)
        ]
        value, scale = (np.concatenate(arrays) for arrays in zip(*found, strict=True))
        return Truth(value, scale)

    def _places(self, row: Row, keep: int | None) -> list[int]:
        """Return the positions of a text that its steps are asked for."""
        places: list[int] = []
        start = row.num_read
        for num_new in self.steps[row.joins : row.leaves]:
            kept = min(num_new, keep or num_new)
            places += range(start + num_new - kept, start + num_new)
            start += num_new
        return places

    def __str__(self) -> str:
        """Say who is where, for a report."""
        rows = "; ".join(
            say(
                "grading.in_a_slot",
                slot=row.slot,
                num_read=row.num_read,
                first=row.joins + 1,
                last=row.leaves or len(self.steps),
            )
            for row in self.rows
        )
        steps = ", ".join(map(str, self.steps))
        return say("grading.in_slots", num_slots=self.num_slots, rows=rows, steps=steps)


ALONE = Batch(1, (1, 1, 1), (Row(0, 4),))
ALIKE = Batch(2, (1, 1), (Row(0, 3), Row(1, 3)))
LONGER_FIRST = Batch(2, (1, 1, 1), (Row(0, 7), Row(1, 2)))
SHORTER_FIRST = Batch(3, (1, 1, 1), (Row(0, 1), Row(1, 4), Row(2, 8)))
SEVERAL_NEW = Batch(2, (3, 1, 2), (Row(0, 2), Row(1, 6)))
WITH_IDLE_SLOTS = Batch(4, (1, 1), (Row(1, 5), Row(3, 2)))
COMING_AND_GOING = Batch(
    2, (1, 1, 2, 1, 1), (Row(0, 6, 0, 2), Row(1, 2, 0, 4), Row(0, 3, 3), Row(1, 4, 4))
)
TAKEN_AGAIN = Batch(2, (1, 1, 1, 1), (Row(0, 9, 0, 2), Row(1, 3), Row(0, 2, 2)))

BATCHES = {
    "alone": ALONE,
    "alike": ALIKE,
    "longer-first": LONGER_FIRST,
    "shorter-first": SHORTER_FIRST,
    "several-new": SEVERAL_NEW,
    "idle-slots": WITH_IDLE_SLOTS,
    "coming-and-going": COMING_AND_GOING,
    "taken-again": TAKEN_AGAIN,
}
"""All kinds of them, by name."""


def _arrays(truth: Truth) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    return truth.value, np.broadcast_to(truth.scale, truth.value.shape)
