"""The second interactive figure of day G5 counts what the simulator counts."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import mlx.core as mx
import pytest
from tests.book.conftest import OpenFigure

from tiny_llm_course.book.chapter_data import values_of
from tiny_llm_course.kernel_costs.counted import counted as counting
from tiny_llm_course.metal.costs import Costs
from tiny_llm_course.records.replacing import Replacement
from tiny_llm_ref import metal_attention

CHAPTER = "week-2-day-g5-metal-attention"
NAME = "causal-tiles"

THREADS, TILE = 128, 32


@dataclass(frozen=True)
class Setting:
    """Where the controls of the figure stand.

    Attributes:
        side: Queries of a threadgroup.
        tokens: New ones.
        cached: Keys of those before.
        group: Number of the threadgroup, from 1 on.
        done: Its tiles so far.
        row: Which of its queries is followed.
    """

    side: int = 16
    tokens: int = 48
    cached: int = 32
    group: int = 2
    done: int = 2
    row: int = 5

    @property
    def queries(self) -> range:
        """Those of the threadgroup that are there."""
        first = (self.group - 1) * self.side
        return range(first, min(first + self.side, self.tokens))

    @property
    def query(self) -> int:
        """The one that is followed."""
        return self.queries[self.row]


def seen_by(query: int, setting: Setting) -> list[int]:
    """Return the keys that a query sees."""
    context = setting.tokens + setting.cached
    return [s for s in range(context) if s <= query + setting.cached]


def tiles_of(setting: Setting) -> set[int]:
    """Return the tiles that any query of the threadgroup sees."""
    return {s // TILE for query in setting.queries for s in seen_by(query, setting)}


def softmax_sum(scores: Sequence[float]) -> tuple[float, float]:
    """Return the largest score, and the weights against it, added up."""
    most = max(scores)
    return most, sum(math.exp(score - most) for score in scores)


def run_kernel(setting: Setting, arrays: Sequence[mx.array]) -> tuple[mx.array, Costs]:
    """Run the kernel for a prompt in the simulator, and count."""
    own = setting.side // 4
    old = "num_queries = 16, num_keys = 32, own = 4"
    new = f"num_queries = {setting.side}, num_keys = 32, own = {own}"
    changes = () if own == 4 else (Replacement(old, new),)
    grid = (THREADS * -(-setting.tokens // setting.side), 1, 1)
    with counting(changes, grid=grid) as found:
        y = metal_attention.attention_prompt(*arrays)
    (costs,) = found.costs
    return y, costs


def narrow(figure: OpenFigure, setting: Setting) -> list[mx.array]:
    """Return the numbers of the figure, as heads of width 1."""
    context = setting.tokens + setting.cached
    numbers = [
        figure.data["query"][: setting.tokens],
        figure.data["keys"][:context],
        figure.data["values"][:context],
    ]
    return [mx.array(one, mx.float32).reshape(1, 1, -1, 1) for one in numbers]


def show(figure: OpenFigure, setting: Setting) -> None:
    """Move the controls, those first that the others depend on."""
    names = ("side", "tokens", "cached", "group", "done", "row")
    figure.set(**{name: getattr(setting, name) for name in names})


each_setting = pytest.mark.parametrize(
    "setting",
    [
        Setting(),
        Setting(side=4, tokens=17, cached=0, group=5, done=1, row=0),
        Setting(side=32, tokens=48, cached=48, group=2, done=3, row=15),
        Setting(side=8, tokens=5, cached=33, group=1, done=2, row=4),
    ],
)


@each_setting
def test_a_query_keeps_what_plain_loops_keep(
    figure: OpenFigure, setting: Setting
) -> None:
    query, keys = figure.data["query"], figure.data["keys"]
    scores = [
        query[setting.query] * keys[s]
        for s in seen_by(setting.query, setting)
        if s < setting.done * TILE
    ]

    show(figure, setting)

    kept = [figure.read("most"), figure.read("total")]
    assert kept == pytest.approx(list(softmax_sum(scores)))


@each_setting
def test_tiles_that_nobody_sees_are_left_out(
    figure: OpenFigure, setting: Setting
) -> None:
    all_tiles = -(-(setting.tokens + setting.cached) // TILE)
    seen = sum(len(seen_by(query, setting)) for query in setting.queries)
    computed = len(tiles_of(setting)) * TILE * len(setting.queries)

    show(figure, setting)

    assert figure.read("tiles") == len(tiles_of(setting))
    assert figure.read("left_out") == all_tiles - len(tiles_of(setting))
    assert figure.read("masked") == computed - seen


@each_setting
def test_the_simulator_counts_the_same(figure: OpenFigure, setting: Setting) -> None:
    lengths = setting.tokens, setting.tokens + setting.cached
    query, keys = (mx.ones((1, 1, one, 64), mx.float16) for one in lengths)

    show(figure, setting)

    _, costs = run_kernel(setting, (query, keys, keys))
    assert figure.read("bytes") == costs.bytes_read
    assert figure.read("barriers") == costs.barriers


@pytest.mark.parametrize("row", [0, 7, 15])
def test_the_simulator_has_the_same_result(figure: OpenFigure, row: int) -> None:
    setting = Setting(row=row, group=3, done=3)
    arrays = narrow(figure, setting)

    show(figure, setting)

    y, _ = run_kernel(setting, arrays)
    expected = y[0, 0, setting.query, 0].item()
    assert figure.read("result") == pytest.approx(expected, rel=1e-5)


def test_the_tile_is_that_of_the_chapter(figure: OpenFigure) -> None:
    numbers = values_of(CHAPTER, "numbers")

    assert (figure.data["tile"], numbers["queries"]) == (TILE, Setting().side)
