"""The interactive figure of day 5 counts the loads that a plain loop counts."""

from collections import Counter
from dataclasses import dataclass, field

import pytest
from tests.book.conftest import OpenFigure

from tiny_llm_course.book.chapter_data import values_of

CHAPTER = "week-2-day-5-tiled-product"
NAME = "tiles"

OUTPUTS = {"key": 128, "query": 896, "gate": 4864, "down": 896, "head": 151_936}
LANES = {"AVX512": 16, "AVX2": 8, "NEON": 4}


@dataclass(frozen=True)
class Setting:
    """Where the controls of the figure stand.

    Attributes:
        tokens: L.
        most: Tokens of a tile.
        panels: Of a tile.
        matrix: Name of the matrix.
        processor: Name of its registers.
    """

    tokens: int = 256
    most: int = 12
    panels: int = 1
    matrix: str = "gate"
    processor: str = "AVX512"


@dataclass
class Loads:
    """What the loops of a product do for four of its inputs.

    Attributes:
        of_weights: How often those of each output are loaded.
        of_activations: How often those of each token are.
        all: Loads of registers of panels, and of tokens.
        bytes: Of these loads.
        products: Of two registers.
        in_tile: Tokens and panels of the largest tile.
    """

    of_weights: Counter[int] = field(default_factory=Counter)
    of_activations: Counter[int] = field(default_factory=Counter)
    all: int = 0
    bytes: int = 0
    products: int = 0
    in_tile: tuple[int, int] = (0, 0)


def tiles_of(num_tokens: int, most: int) -> list[range]:
    """Cut the tokens like `Tiles` in matmul_int8.h."""
    size = (num_tokens + most - 1) // most
    firsts = [num_tokens * tile // size for tile in range(size + 1)]
    return [range(firsts[i], firsts[i + 1]) for i in range(size)]


def loop(setting: Setting) -> Loads:
    """Go through a product, tile by tile, and note each load."""
    lanes, seen = LANES[setting.processor], Loads()
    num_outputs = OUTPUTS[setting.matrix]
    step = lanes * setting.panels
    for tokens in tiles_of(setting.tokens, setting.most):
        for first in range(0, num_outputs, step):
            panels = range(first, min(first + step, num_outputs), lanes)
            for panel in panels:
                seen.of_weights.update(range(panel, panel + lanes))
                seen.all += 1
                seen.bytes += 4 * lanes
            for token in tokens:
                seen.of_activations[token] += 1
                seen.all += 1
                seen.bytes += 4
                seen.products += len(panels)
            seen.in_tile = max(seen.in_tile, (len(tokens), len(panels)))
    return seen


@pytest.mark.parametrize(
    "setting",
    [
        Setting(),
        Setting(most=1),
        Setting(most=1, panels=12),
        Setting(most=6, panels=2),
        Setting(most=4, panels=3, matrix="head", tokens=3),
        Setting(tokens=1, most=16, panels=5, matrix="query"),
        Setting(tokens=13, processor="AVX2", most=7),
        Setting(tokens=255, processor="NEON", most=16, panels=12, matrix="down"),
        # Wider than the whole matrix, which has eight panels.
        Setting(matrix="key", panels=12, most=5),
        Setting(tokens=1, most=1, matrix="key", processor="NEON"),
    ],
)
def test_it_counts_what_a_plain_loop_loads(
    figure: OpenFigure, setting: Setting
) -> None:
    seen = loop(setting)
    num_tokens, num_outputs = setting.tokens, OUTPUTS[setting.matrix]

    figure.set(**vars(setting))

    # All weights are loaded as often as each other, and so are all activations.
    assert set(seen.of_weights.values()) == {figure.read("weight")}
    assert set(seen.of_activations.values()) == {figure.read("activation")}
    assert (len(seen.of_weights), len(seen.of_activations)) == (num_outputs, num_tokens)
    assert figure.read("unpacked") == [1, num_tokens]
    tokens, panels = seen.in_tile
    assert figure.read("instructions") == tokens * panels
    assert figure.read("loads") == tokens + panels
    assert figure.read("per_product") == pytest.approx(seen.all / seen.products)
    operations = 2 * 4 * num_tokens * num_outputs
    assert figure.read("per_byte") == pytest.approx(operations / seen.bytes)
    registers = 2 * tokens * panels + min(tokens, panels) + 1
    assert figure.read("registers") == registers


def test_it_opens_with_the_tile_of_the_chapter(figure: OpenFigure) -> None:
    numbers = values_of(CHAPTER, "numbers")
    tile, work = numbers["tile"], numbers["work"]

    assert figure.read("loads") == tile["loads"]
    assert figure.read("registers") == tile["registers"] + 2
    assert figure.read("instructions") * 64 // 4 == tile["instructions"]
    assert figure.read("per_matrix_byte") == pytest.approx(work["many_per_byte"])


@pytest.mark.parametrize("matrix", OUTPUTS)
def test_one_token_gets_the_same_out_of_each_byte_of_any_matrix(
    figure: OpenFigure, matrix: str
) -> None:
    """What memory delivers does not depend on the tile."""
    work = values_of(CHAPTER, "numbers")["work"]

    figure.set(tokens=1, matrix=matrix, most=5)

    assert figure.read("per_matrix_byte") == pytest.approx(work["one_per_byte"])


@pytest.mark.parametrize(
    ("processor", "most"), [("AVX512", 15), ("AVX2", 7), ("NEON", 15)]
)
def test_the_largest_tile_of_one_panel(
    figure: OpenFigure, processor: str, most: int
) -> None:
    """A token more needs registers that are not there, and the figure says so."""
    figure.set(processor=processor, tokens=240)
    count = figure.data["registers"][processor]["count"]
    complaint = figure.page.get_by_text("more are needed")

    figure.set(most=most)
    fits = figure.read("registers"), complaint.count()
    figure.set(most=most + 1)

    assert fits == (count, 0)
    assert (figure.read("registers"), complaint.count()) == (count + 2, 1)
