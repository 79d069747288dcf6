"""The figure of day G2 goes through both passes, and counts the bytes of each."""

import itertools
from typing import Any

import pytest
from tests.book.conftest import OpenFigure

CHAPTER = "week-2-day-g2-norm-and-rotation"
NAME = "row-in-two-passes"

ROUNDS, COUNT, BYTES = 3, 24, 4
LAST = 2 * ROUNDS + 3

ARRAYS = {
    ("norm", "device"): (1, 0, 2),
    ("norm", "threadgroup"): (1, 0, 1),
    ("sum", "device"): (2, 1, 2),
    ("sum", "threadgroup"): (2, 1, 1),
}
"""By kernel and place: rows that the first pass reads and writes, and the second reads.

The second one reads a weight, and the row again if that is not kept.
"""


@pytest.mark.parametrize(("kernel", "again"), ARRAYS)
def test_it_counts_what_threads_ask_for(
    figure: OpenFigure, kernel: str, again: str
) -> None:
    first, stored, second = ARRAYS[kernel, again]
    row = COUNT * BYTES

    figure.set(kernel=kernel, again=again, step=LAST)

    assert figure.read("read") == (first + second) * row
    assert figure.read("stored") == (stored + 1) * row
    assert figure.read("fused") == (first + second + stored + 1) * row


def test_bytes_come_with_the_rounds_of_both_passes(figure: OpenFigure) -> None:
    """A round takes a third of the row. Slots and barrier move nothing."""
    figure.set(kernel="norm", again="device")
    read = _walk(figure, "read")

    third = COUNT * BYTES // ROUNDS
    gained = [after - before for before, after in itertools.pairwise(read)]
    assert gained == [third] * ROUNDS + [0, 0, 0] + [2 * third] * ROUNDS


def test_separate_operations_move_more(figure: OpenFigure) -> None:
    """Square, mean, eps, root, two products; and a sum, which has three rows."""
    row, one = COUNT * BYTES, BYTES

    figure.set(kernel="norm", again="device")
    assert figure.read("apart") == 8 * row + 6 * one
    figure.set(kernel="sum")

    assert figure.read("apart") == 11 * row + 6 * one
    assert figure.read("times") == pytest.approx(
        figure.read("apart") / figure.read("fused")
    )


def test_each_step_has_a_name(figure: OpenFigure) -> None:
    names = _walk(figure, "now")

    between = ["slots", "barrier", "total"]
    assert names == ["start", *["first"] * 3, *between, *["second"] * 3]


def _walk(figure: OpenFigure, readout: str) -> list[Any]:
    """Go through all steps, and return what a number is at each."""
    found: list[Any] = []
    for step in range(LAST + 1):
        figure.set(step=step)
        found.append(figure.read(readout))
    return found
