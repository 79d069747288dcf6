"""What additions cost as operations of MLX: one by one, and joined into one.

They are timed in long chains on the CPU, where each needs the result of the one
before. An addition reads two arrays and writes one.
"""

from collections.abc import Callable, Iterable, Sequence

import mlx.core as mx
from matplotlib.figure import Figure

from tiny_llm_course.solution import Solution
from tiny_llm_lab.experiments.experiment import Lab
from tiny_llm_lab.records import Row, four_digits
from tiny_llm_lab.timing import Rounds, in_turns

NUMBERS = tuple(4**power for power in range(1, 12))
"""The lengths of the arrays: from 4 numbers to 17 MB."""

JOINED = (1, 2, 4, 8)
"""How many additions `mx.compile` joins into one operation; 1 is not compiled."""

CHAIN, CHAIN_NUMBERS = 96, 4_000_000
"""Operations of a chain, and the numbers of all: long arrays get shorter chains."""

ROUNDS = Rounds(budget_s=4.0, least=5, most=61)


def cases(quick: bool) -> list[Row]:
    """Return the lengths; in a quick run, only the first."""
    return [{"numbers": count} for count in NUMBERS[: 1 if quick else None]]


def measure(case: Row, solution: Solution) -> Iterable[Row]:
    """Time all ways to add so many numbers again and again."""
    del solution
    count = int(case["numbers"])
    length = max(4, min(CHAIN, CHAIN_NUMBERS // count))
    with mx.stream(mx.cpu):
        x = mx.random.normal((count,))
        mx.eval(x)
        chains = {str(joined): chain(joined, length, x) for joined in JOINED}
        steps = {name: lambda run=run: mx.eval(run()) for name, run in chains.items()}
        times = in_turns(steps, ROUNDS)
    for name, own in times.items():
        spread = own.spread
        yield {
            "additions": int(name),
            "time_us": four_digits(spread.middle / length * 1e6),
            "low_us": four_digits(spread.low / length * 1e6),
            "high_us": four_digits(spread.high / length * 1e6),
        }


def chain(additions: int, length: int, x: mx.array) -> Callable[[], mx.array]:
    """Return a chain of operations, each of which does some additions."""

    def add(y: mx.array, x: mx.array) -> mx.array:
        for _ in range(additions):
            y = y + x
        return y

    operation = add if additions == 1 else mx.compile(add)

    def call() -> mx.array:
        y = x
        for _ in range(length):
            y = operation(y, x)
        return y

    return call


def times_us(rows: Sequence[Row], additions: int) -> dict[int, float]:
    """Return the microseconds of an operation that does so many, by its numbers."""
    return {
        int(row["numbers"]): float(row["low_us"])
        for row in rows
        if int(row["additions"]) == additions
    }


def summary(rows: Sequence[Row]) -> list[Row]:
    """Return a row for each operation, beside its additions done one by one."""
    alone = times_us(rows, 1)
    return [
        {
            "numbers": row["numbers"],
            "additions": row["additions"],
            "one operation, us": row["low_us"],
            "one by one, us": four_digits(
                int(row["additions"]) * alone[int(row["numbers"])]
            ),
        }
        for row in rows
    ]


def draw(rows: Sequence[Row]) -> Figure:
    """Draw the time of an operation over its numbers, on logarithmic axes."""
    figure = Figure(figsize=(5, 3.2), layout="constrained")
    axes = figure.subplots()
    for additions in JOINED:
        found = times_us(rows, additions)
        axes.plot([*found], [*found.values()], label=f"{additions} additions")
    axes.set(xscale="log", yscale="log", xlabel="numbers", ylabel="microseconds")
    axes.legend()
    return figure


LAB = Lab(
    "operation-costs",
    ("numbers",),
    ("additions", "time_us", "low_us", "high_us"),
    cases,
    measure,
    summary,
    draw,
)
