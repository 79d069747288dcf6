"""The interactive figure of day G4 counts what the simulator counts."""

from dataclasses import dataclass

import pytest
from tests.book.conftest import OpenFigure

from tiny_llm_course.book.chapter_data import values_of

CHAPTER = "week-2-day-g4-metal-tiles"
NAME = "marching-tiles"

ROWS, COLUMNS, DEPTH = 48, 128, 32


@dataclass(frozen=True)
class Setting:
    """Where the controls of the figure stand.

    Attributes:
        side: Of a tile of sums.
        done: Statements of the threadgroup that is shown.
        group: Its number, from 1 on.
        tokens: Of the product.
    """

    side: int = 16
    done: int = 1
    group: int = 2
    tokens: int = 40


@dataclass
class Counted:
    """What plain loops count.

    Attributes:
        entries: How often each entry of x is read.
        weights: How often each weight is read.
        bytes: Read by all threadgroups.
        sums: That each threadgroup has, one after the other.
    """

    entries: set[int]
    weights: set[int]
    bytes: int
    sums: list[int]


def multiply(tokens: int, side: int) -> Counted:
    """Let each threadgroup copy its tiles, and count."""
    of_x = dict.fromkeys(range(tokens), 0)
    of_w = dict.fromkeys(range(ROWS), 0)
    read, sums = 0, list[int]()
    for first_token in range(0, tokens, side):
        for first_row in range(0, ROWS, side):
            lines = range(first_token, min(first_token + side, tokens))
            rows = range(first_row, min(first_row + side, ROWS))
            sums.append(len(lines) * len(rows))
            for _ in range(0, COLUMNS, DEPTH):
                read += len(lines) * DEPTH * 2
                num_words = len(rows) * DEPTH // 8
                read += num_words * (4 + 2 + 2)
            for line in lines:
                of_x[line] += 1
            for row in rows:
                of_w[row] += 1
    return Counted(set(of_x.values()), set(of_w.values()), read, sums)


def after(statements: int) -> tuple[int, int]:
    """Run the loop up to a statement; return barriers passed and columns added."""
    barriers, added = 0, 0
    for number in range(statements):
        barriers += number % 4 in {1, 3}
        added += DEPTH if number % 4 == 2 else 0
    return barriers, added


@pytest.mark.parametrize(
    "setting",
    [
        Setting(),
        Setting(side=1, done=0, tokens=7),
        Setting(side=8, done=3, tokens=48, group=7),
        Setting(side=32, done=8, tokens=33, group=4),
        Setting(side=16, done=16, tokens=1, group=3),
        Setting(side=16, done=14, tokens=17, group=5),
    ],
)
def test_it_counts_what_plain_loops_count(figure: OpenFigure, setting: Setting) -> None:
    counted = multiply(setting.tokens, setting.side)
    products = setting.tokens * ROWS * COLUMNS

    figure.set(**vars(setting))

    assert {figure.read("entry_reads")} == counted.entries
    assert {figure.read("weight_reads")} == counted.weights
    assert figure.read("bytes") == pytest.approx(1000 * counted.bytes / products)
    assert figure.read("threads") == setting.side**2
    assert figure.read("busy") == counted.sums[setting.group - 1]
    assert (figure.read("barriers"), figure.read("added")) == after(setting.done)


@pytest.mark.parametrize("side", [1, 8, 16])
def test_whole_tiles_read_what_the_simulator_counts(
    figure: OpenFigure, side: int
) -> None:
    costs = values_of(CHAPTER, "numbers")["cost"][f"tiles_{side}"]

    figure.set(side=side, tokens=48)

    assert figure.read("bytes") == pytest.approx(costs["bytes"])


def test_tiles_of_the_reference_take_the_memory_of_the_chapter(
    figure: OpenFigure,
) -> None:
    figure.set(side=16)

    shared_bytes = values_of(CHAPTER, "numbers")["shared_bytes"]

    assert figure.read("shared") == shared_bytes
