"""The interactive figure of day G3 counts the lines that the simulator counts."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from tests.book.conftest import OpenFigure

from tiny_llm_course.book.chapter_data import values_of

CHAPTER = "week-2-day-g3-metal-matvec"
NAME = "lanes-and-lines"

LANES, LINE_BYTES, ROWS = 32, 128, 4


@dataclass(frozen=True)
class Setting:
    """Where the controls of the figure stand.

    Attributes:
        kernel: What each lane takes.
        step: Of the loop, from 1 on.
        load: Of x in a step, from 1 on.
        columns: Of the row.
        bits: Of a weight.
        entry: The bytes of an entry of x.
    """

    kernel: str = "stretch"
    step: int = 1
    load: int = 1
    columns: int = 896
    bits: int = 4
    entry: int = 2


Addresses = list[list[int]]
"""The bytes that each lane with work asks for in a load."""


@dataclass(frozen=True)
class Step:
    """What the lanes load in a step of the loop.

    Attributes:
        weights: Of the row.
        x: In one load after the other.
    """

    weights: Addresses
    x: list[Addresses]


def loop(setting: Setting) -> Iterator[Step]:
    """Go through a row as the kernels do."""
    num_bytes = 16 if setting.kernel == "rows" else 4
    width = 4 if setting.kernel == "rows" else 1
    per_piece = num_bytes * 8 // setting.bits
    pieces = setting.columns // per_piece
    steps = (pieces + LANES - 1) // LANES
    for step in range(steps):
        if setting.kernel == "stretch":
            taken = [lane * steps + step for lane in range(LANES)]
        else:
            taken = [step * LANES + lane for lane in range(LANES)]
        taken = [one for one in taken if one < pieces]
        yield Step(
            [list(range(one * num_bytes, (one + 1) * num_bytes)) for one in taken],
            [
                [
                    list(
                        range(
                            (one * per_piece + first) * setting.entry,
                            (one * per_piece + first + width) * setting.entry,
                        )
                    )
                    for one in taken
                ]
                for first in range(0, per_piece, width)
            ],
        )


def lines(load: Addresses) -> int:
    """Count the lines that a load touches."""
    return len({address // LINE_BYTES for lane in load for address in lane})


def fewest(load: Addresses) -> int:
    """Count the lines that could hold as many bytes."""
    return -(-sum(map(len, load)) // LINE_BYTES)


@pytest.mark.parametrize(
    "setting",
    [
        Setting(),
        Setting(step=4, load=8),
        Setting(kernel="words"),
        Setting(kernel="words", step=4, load=3, entry=4),
        Setting(kernel="words", step=2, load=4, bits=8, columns=1024),
        Setting(kernel="rows"),
        Setting(kernel="rows", load=8, columns=1024),
        Setting(kernel="rows", step=2, load=4, bits=8, entry=4),
        Setting(kernel="rows", columns=64),
        Setting(kernel="stretch", bits=8, columns=320, step=3, load=2, entry=4),
    ],
)
def test_it_counts_what_a_plain_loop_loads(
    figure: OpenFigure, setting: Setting
) -> None:
    steps = list(loop(setting))
    now = steps[setting.step - 1]
    met = now.x[setting.load - 1]
    rows = ROWS if setting.kernel == "rows" else 1

    figure.set(**vars(setting))

    assert figure.read("busy") == len(now.weights)
    assert figure.read("steps") == len(steps)
    assert figure.read("weight_lines") == [lines(now.weights), fewest(now.weights)]
    assert figure.read("x_lines") == [lines(met), fewest(met)]
    assert figure.read("x_loads") == len(now.x)
    of_x = sum(lines(load) for one in steps for load in one.x)
    own = sum(lines(one.weights) for one in steps)
    assert figure.read("row_lines") == pytest.approx(own + of_x / rows)


@pytest.mark.parametrize("variant", ["stretch", "words", "rows_1"])
def test_a_plain_loop_touches_the_lines_that_the_simulator_counts(variant: str) -> None:
    """Besides: a scale and a bias for each piece, and the result."""
    costs = values_of(CHAPTER, "numbers")["cost"][variant]
    steps = list(loop(Setting(kernel=variant.removesuffix("_1"))))

    own = sum(lines(one.weights) + sum(map(lines, one.x)) for one in steps)

    # A row of scales is 28 bytes. Rows of 448 bytes begin in the middle of a line, too.
    counted = costs["lines"] * 896 / 1000
    assert own + 2 * len(steps) <= counted <= own + 5 * len(steps) + 1


def test_it_opens_with_the_row_of_the_chapter(figure: OpenFigure) -> None:
    gate = values_of(CHAPTER, "numbers")["matrix"]["gate"]

    figure.set(kernel="words")
    assert figure.read("steps") == gate["steps"]
    figure.set(step=gate["steps"])

    assert figure.read("busy") == gate["lanes"]
