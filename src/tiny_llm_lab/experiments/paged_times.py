"""What pages cost: attention to them, beside keys and values that lie in one place.

All heads are those of Qwen2-0.5B. A step attends to several pools in turn, more than
the caches of a CPU hold, as the layers of a model do. Pools and caches lie in large
pages of memory, where Linux has them.
"""

import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import mlx.core as mx
import numpy as np
from matplotlib.figure import Figure

from tiny_llm_course.errors import CourseError
from tiny_llm_course.solution import Solution
from tiny_llm_lab.experiments.experiment import Lab
from tiny_llm_lab.records import Row, four_digits
from tiny_llm_lab.timing import Rounds, in_turns

HEADS, KV_HEADS, HEAD_DIM = 14, 2, 64
POOL_BYTES = 64 * 10**6
"""Of all pools of a case: twice the size of a large cache."""

ROUNDS = Rounds(budget_s=12.0, least=5, most=61)

ONE_PLACE = "in one place"
GATHERED = "gathered first"
PAGED = "in pages"
"""The names of the ways."""

Way = Callable[[Any], mx.array]


@dataclass(frozen=True)
class Work:
    """Rows that attend: as many new tokens in each, and as many in all."""

    name: str
    rows: int
    queries: int
    context: int
    page_size: int = 16

    @property
    def num_pools(self) -> int:
        """How many pools there are, each as large as the contexts."""
        floats = 2 * self.rows * self.context * KV_HEADS * HEAD_DIM
        return max(1, -(-POOL_BYTES // (4 * floats)))


DECODING = Work("8 rows, one token each over 1024", 8, 1, 1024)
LONG = Work("one token over 4096", 1, 1, 4096)
PIECE = Work("a piece of 128 tokens over 1024", 1, 128, 1024)
SMALL_PAGES = Work("one token over 4096, pages of 4", 1, 1, 4096, 4)
LARGE_PAGES = Work("one token over 4096, pages of 64", 1, 1, 4096, 64)
ALL = (DECODING, LONG, PIECE, SMALL_PAGES, LARGE_PAGES)


@dataclass(frozen=True)
class Drawn:
    """The same keys and values, in one place and in pages, and what looks at them."""

    query: mx.array
    key: mx.array
    value: mx.array
    pages: tuple[mx.array, mx.array]
    table: mx.array
    lens: mx.array


def cases(quick: bool) -> list[Row]:
    """Return what is timed; in a quick run, only the first."""
    return [{"work": one.name} for one in ALL[: 1 if quick else None]]


def measure(case: Row, solution: Solution) -> Iterable[Row]:
    """Time all ways to do some work."""
    work = next(one for one in ALL if one.name == case["work"])
    pools = [_drawn(work, number) for number in range(work.num_pools)]
    try:
        advise = solution.get("kernels.advise_huge_pages")
        for one in pools:
            advise(one.key, one.value, *one.pages)
    except ImportError as error:
        raise CourseError(str(error)) from error
    with mx.stream(mx.cpu):
        steps = {
            name: functools.partial(_all_pools, way, pools)
            for name, way in _ways(work, solution).items()
        }
        times = in_turns(steps, ROUNDS)
    for name, own in times.items():
        spread = own.spread
        yield {
            "way": name,
            "time_us": four_digits(spread.middle / len(pools) * 1e6),
            "low_us": four_digits(spread.low / len(pools) * 1e6),
            "high_us": four_digits(spread.high / len(pools) * 1e6),
        }


def _all_pools(way: Way, pools: Sequence[Drawn]) -> None:
    """Attend to one pool after the other."""
    for one in pools:
        mx.eval(way(one))


def _ways(work: Work, solution: Solution) -> dict[str, Way]:
    """Return the ways to attend, all with kernels of the course."""
    is_few = work.queries <= 8
    variant = "attention_split" if is_few else "attention_tiled"
    contiguous = solution.get(f"kernels.{variant}")
    paged = solution.get("kernels.paged_attention_tiled")
    scale = HEAD_DIM**-0.5

    def gathered(one: Drawn) -> mx.array:
        key, value = (_side_by_side(pages, one.table) for pages in one.pages)
        return contiguous(one.query, key, value, scale, "causal")

    return {
        ONE_PLACE: lambda one: contiguous(
            one.query, one.key, one.value, scale, "causal"
        ),
        GATHERED: gathered,
        PAGED: lambda one: paged(
            one.query, *one.pages, one.table, one.lens, scale, "causal"
        ),
    }


def _side_by_side(pages: mx.array, table: mx.array) -> mx.array:
    """Put the pages of each row side by side: B x H_kv x S x D."""
    found = pages[table].swapaxes(1, 2)
    return found.reshape(*found.shape[:2], -1, found.shape[-1])


def _drawn(work: Work, number: int) -> Drawn:
    """Draw a pool, with its pages in no order, and the same numbers in one place."""
    per_row = work.context // work.page_size
    num_pages = work.rows * per_row
    order = np.random.default_rng(number).permutation(num_pages)
    table = mx.array(order.reshape(work.rows, per_row).astype(np.int32))
    shape = (num_pages, KV_HEADS, work.page_size, HEAD_DIM)
    of_keys, of_values, of_queries = mx.random.split(mx.random.key(number), 3)
    pages = (
        mx.random.normal(shape, key=of_keys),
        mx.random.normal(shape, key=of_values),
    )
    keys, values = (mx.contiguous(_side_by_side(one, table)) for one in pages)
    query = mx.random.normal((work.rows, HEADS, work.queries, HEAD_DIM), key=of_queries)
    lens = mx.full((work.rows,), work.context, mx.int32)
    drawn = Drawn(query, keys, values, pages, table, lens)
    mx.eval(drawn.query, drawn.key, drawn.value, *drawn.pages, table, lens)
    return drawn


def times_us(rows: Sequence[Row], work: Work) -> dict[str, float]:
    """Return the microseconds of each way."""
    return {
        str(row["way"]): float(row["time_us"])
        for row in rows
        if row["work"] == work.name
    }


def summary(rows: Sequence[Row]) -> list[Row]:
    """Return a line for each way to do each work."""
    base = {row["work"]: row for row in rows if row["way"] == ONE_PLACE}
    return [
        {
            "work": row["work"],
            "way": row["way"],
            "us": row["time_us"],
            "half of the rounds": f"{row['low_us']} to {row['high_us']}",
            "times one place": f"{_ratio(row, base[row['work']]):.2f}",
        }
        for row in rows
    ]


def _ratio(row: Row, other: Row) -> float:
    return float(row["time_us"]) / float(other["time_us"])


def draw(rows: Sequence[Row]) -> Figure:
    """Draw the times of all ways, grouped by work."""
    figure = Figure(figsize=(6, 0.8 + 0.25 * len(rows)), layout="constrained")
    axes = figure.subplots()
    names = [f"{row['work']}: {row['way']}" for row in rows][::-1]
    axes.barh(names, [float(row["time_us"]) for row in rows][::-1])
    axes.set(xlabel="microseconds")
    return figure


LAB = Lab(
    "paged-times",
    ("work",),
    ("way", "time_us", "low_us", "high_us"),
    cases,
    measure,
    summary,
    draw,
)
