"""How fast each variant of Week 2, Day 4 multiplies, beside MLX and beside the memory.

A step multiplies one vector by several matrices of one shape, more than any cache of a
CPU holds, as a model does for a token. All variants take turns with each other, with
`mx.quantized_matmul`, and with reading an array from memory.
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
from tiny_llm_lab.bench.machine import MachineEngine
from tiny_llm_lab.experiments.experiment import Lab
from tiny_llm_lab.records import Row, four_digits
from tiny_llm_lab.timing import Rounds, Step, in_turns

VARIANTS = ("naive", "blocked", "simd", "int8", "threaded")
LIBRARY = "mx.quantized_matmul"
READING = "reading memory"

BITS, GROUP_SIZE = 4, 64
SET_BYTES = 64 * 10**6
"""The bytes of a step's matrices: twice the size of a large cache."""

READ_MB = 256
ROUNDS = Rounds(budget_s=30.0, least=7, most=41)
SEED = 0


@dataclass(frozen=True)
class Shape:
    """A matrix of Qwen2-0.5B: outputs x inputs."""

    name: str
    rows: int
    columns: int

    @property
    def num_bytes(self) -> int:
        """Count the packed weights, with scale and bias of a group in float32."""
        weights = self.rows * self.columns
        return weights * BITS // 8 + 2 * 4 * weights // GROUP_SIZE


SHAPES = (
    Shape("gate of the MLP", 4864, 896),
    Shape("MLP, back to the hidden size", 896, 4864),
    Shape("table of the tokens", 151936, 896),
)


def cases(quick: bool) -> list[Row]:
    """Return the matrices; in a quick run, only the first."""
    return [
        {"matrix": one.name, "rows": one.rows, "columns": one.columns}
        for one in SHAPES[: 1 if quick else None]
    ]


def measure(case: Row, solution: Solution) -> Iterable[Row]:
    """Time all variants on one shape."""
    shape = Shape(str(case["matrix"]), int(case["rows"]), int(case["columns"]))
    number = -(-SET_BYTES // shape.num_bytes)
    try:
        steps = _steps(shape, number, solution)
        steps[VARIANTS[0]]()
    except ImportError as error:
        raise CourseError(str(error)) from error
    steps[READING] = MachineEngine().read(READ_MB)
    times = in_turns(steps, ROUNDS)
    read_bytes_per_s = READ_MB * 10**6 / times[READING].spread.middle
    for name, own in times.items():
        many, size = (
            (1, READ_MB * 10**6) if name == READING else (number, shape.num_bytes)
        )
        spread = own.spread
        bytes_per_s = size * many / spread.middle
        yield {
            "rung": name,
            "time_us": four_digits(spread.middle / many * 1e6),
            "low_us": four_digits(spread.low / many * 1e6),
            "high_us": four_digits(spread.high / many * 1e6),
            "gb_per_s": four_digits(bytes_per_s / 1e9),
            "share_of_bandwidth": four_digits(bytes_per_s / read_bytes_per_s),
        }


def _steps(shape: Shape, number: int, solution: Solution) -> dict[str, Step]:
    """Get each variant ready to multiply by all matrices of a set."""
    x = mx.random.normal((shape.columns,), key=mx.random.key(SEED))
    weights = _matrices(shape, number)
    made = solution.get("quantize.QuantizedWeights")
    own = [made(scales, biases, GROUP_SIZE, BITS, w) for w, scales, biases in weights]
    mx.eval(x, weights)

    def all_with(multiply: Callable[[Any], mx.array], matrices: Sequence[Any]) -> Step:
        return lambda: mx.eval([multiply(one) for one in matrices])

    steps = {
        variant: all_with(
            functools.partial(solution.get(f"kernels.matvec_{variant}"), x), own
        )
        for variant in VARIANTS
    }
    steps[LIBRARY] = all_with(
        lambda one: mx.quantized_matmul(
            x[None], *one, group_size=GROUP_SIZE, bits=BITS, stream=mx.cpu
        ),
        weights,
    )
    return steps


def _matrices(shape: Shape, number: int) -> list[tuple[mx.array, mx.array, mx.array]]:
    """Draw random bits for some matrices. Their values do not matter."""
    rng = np.random.default_rng(SEED)
    words = (shape.rows, shape.columns * BITS // 32)
    groups = (shape.rows, shape.columns // GROUP_SIZE)
    return [
        (
            mx.array(rng.integers(0, 2**32, words, dtype=np.uint32)),
            mx.array(rng.uniform(0.001, 0.002, groups).astype(np.float32)),
            mx.array(rng.uniform(-0.01, 0.0, groups).astype(np.float32)),
        )
        for _ in range(number)
    ]


def summary(rows: Sequence[Row]) -> list[Row]:
    """Return a line for each variant of each matrix."""
    slowest = {row["matrix"]: row for row in rows if row["rung"] == VARIANTS[0]}
    return [
        {
            "matrix": f"{row['rows']} x {row['columns']}",
            "rung": row["rung"],
            "us": row["time_us"],
            "GB/s": row["gb_per_s"],
            "of the memory": f"{float(row['share_of_bandwidth']):.0%}",
            "times naive": _times(slowest[row["matrix"]], row),
        }
        for row in rows
        if row["rung"] != READING
    ]


def _times(naive: Row, row: Row) -> str:
    """Say how many times as fast as naive a variant is."""
    return f"{float(naive['time_us']) / float(row['time_us']):.1f}"


def draw(rows: Sequence[Row]) -> Figure:
    """Draw the bytes of weights per second, a panel for each matrix."""
    shapes = [one for one in SHAPES if any(row["matrix"] == one.name for row in rows)]
    figure = Figure(figsize=(5, 0.6 + 1.9 * len(shapes)), layout="constrained")
    panels = figure.subplots(len(shapes), 1, squeeze=False, sharex=True)[:, 0]
    for axes, shape in zip(panels, shapes, strict=True):
        own = [row for row in rows if row["matrix"] == shape.name]
        shown = [row for row in own if row["rung"] != READING][::-1]
        speeds = [float(row["gb_per_s"]) for row in shown]
        names = [str(row["rung"]) for row in shown]
        axes.barh(names, speeds, color=["C0" if n in VARIANTS else "C1" for n in names])
        memory = next(float(r["gb_per_s"]) for r in own if r["rung"] == READING)
        axes.axvline(memory, color="C2", linewidth=1)
        axes.set(title=f"{shape.rows} x {shape.columns}, {BITS} bits")
    panels[-1].set(xlabel="GB of weights in a second; the line is reading memory")
    return figure


LAB = Lab(
    "matvec-ladder",
    ("matrix", "rows", "columns"),
    (
        "rung",
        "time_us",
        "low_us",
        "high_us",
        "gb_per_s",
        "share_of_bandwidth",
    ),
    cases,
    measure,
    summary,
    draw,
)
