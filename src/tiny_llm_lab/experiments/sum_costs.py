"""What it takes to add up numbers of two processes, through a ring on this machine.

Each case starts two processes, which do nothing else: one times `all_sum`, and both
take part in it.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

import mlx.core as mx
from matplotlib.figure import Figure

from tiny_llm_course.serving.ranks import free_ports, joined
from tiny_llm_course.solution import Solution
from tiny_llm_lab.experiments.experiment import Lab
from tiny_llm_lab.records import Row, four_digits
from tiny_llm_lab.timing import Rounds, in_turns

WIDTH = 896
"""Numbers that a token has between two layers of Qwen2-0.5B."""

TOKENS = (1, 8, 32, 128, 512)
"""Whose numbers are added up at a time."""

ROUNDS = Rounds(budget_s=0, least=101, most=101)
"""As many in both processes, however long they take."""

TIMEOUT_S = 300


def cases(quick: bool) -> list[Row]:
    """Return what is added up; in a quick run, the numbers of one token."""
    return [{"tokens": tokens} for tokens in TOKENS[: 1 if quick else None]]


def measure(case: Row, solution: Solution) -> Iterable[Row]:
    """Time sums for so many tokens."""
    del solution
    with tempfile.TemporaryDirectory() as folder:
        hosts = Path(folder) / "hosts.json"
        ports = free_ports(2)
        hosts.write_text(json.dumps([[f"127.0.0.1:{one}"] for one in ports]))
        processes = [
            subprocess.Popen(
                [sys.executable, "-m", __name__, str(case["tokens"])],
                env={**os.environ, "MLX_RANK": str(rank), "MLX_HOSTFILE": str(hosts)},
                stdout=subprocess.PIPE,
                text=True,
            )
            for rank in (0, 1)
        ]
        said = [one.communicate(timeout=TIMEOUT_S)[0] for one in processes]
    least, low, middle, high = json.loads(said[0])
    yield {
        "least_us": four_digits(least * 1e6),
        "time_us": four_digits(middle * 1e6),
        "low_us": four_digits(low * 1e6),
        "high_us": four_digits(high * 1e6),
    }


def time_sums(tokens: int) -> list[float]:
    """Add up with the other process: the least time, and the quartiles, in seconds."""
    mx.set_default_device(mx.cpu)
    _, _, all_sum = joined()
    part = mx.ones((tokens, WIDTH))
    mx.eval(part)
    times = in_turns({"sum": lambda: mx.eval(all_sum(part))}, ROUNDS)["sum"]
    spread = times.spread
    return [min(times.wall_s), spread.low, spread.middle, spread.high]


def times_us(rows: Sequence[Row], which: str = "least_us") -> dict[int, float]:
    """Return the microseconds of a sum by its number of tokens.

    Both processes have to run at the same moment: other work on the machine makes the
    median many times longer than the least.
    """
    return {int(row["tokens"]): float(row[which]) for row in rows}


def summary(rows: Sequence[Row]) -> list[Row]:
    """Return a line for each number of tokens."""
    return [
        {
            "tokens": row["tokens"],
            "kB": round(int(row["tokens"]) * WIDTH * 4 / 1e3, 1),
            "at best us": row["least_us"],
            "us": row["time_us"],
            "half of the rounds": f"{row['low_us']} to {row['high_us']}",
        }
        for row in rows
    ]


def draw(rows: Sequence[Row]) -> Figure:
    """Draw the times over the tokens."""
    figure = Figure(figsize=(5, 3), layout="constrained")
    axes = figure.subplots()
    times = times_us(rows)
    axes.loglog(list(times), list(times.values()), "o-")
    axes.set(xlabel="tokens", ylabel="microseconds")
    return figure


LAB = Lab(
    "sum-costs",
    ("tokens",),
    ("least_us", "time_us", "low_us", "high_us"),
    cases,
    measure,
    summary,
    draw,
)

if __name__ == "__main__":
    print(json.dumps(time_sums(int(sys.argv[1]))))
