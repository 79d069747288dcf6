"""Times the kernels of Week 2, Days 5 to 7, next to the operations they replace.

All have the sizes of Qwen2-0.5B, and run on the CPU in float32. Those that take
microseconds are timed in chains, where each call needs the result of the one before.
"""

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import mlx.core as mx
import torch
from matplotlib.figure import Figure

from tiny_llm_course.errors import CourseError
from tiny_llm_course.solution import Solution
from tiny_llm_lab.experiments.experiment import Lab
from tiny_llm_lab.records import Row, four_digits
from tiny_llm_lab.timing import Rounds, Step, in_turns

HIDDEN, INTERMEDIATE = 896, 4864
HEADS, KV_HEADS, HEAD_DIM = 14, 2, 64
BASE, EPS = 1e6, 1e-6
BITS, GROUP_SIZE = 4, 64
TOKENS = 256
CHAIN = 100
ROUNDS = Rounds(budget_s=15.0, least=5, most=41)

KERNEL = "kernel"
"""The name of the course's way, where it is the only one."""

ONLINE = "online"
"""The first rung of Week 2, Day 6."""

ONE_BY_ONE = "one by one"

Ways = Mapping[str, Callable[[], Any]]
Chained = Callable[[mx.array], mx.array]


def product(solution: Solution) -> Ways:
    """Return the ways to multiply 256 vectors by a matrix of 4 bits."""
    x = _draw(TOKENS, HIDDEN)
    packed, w = _packed(solution)
    dense = torch.zeros(INTERMEDIATE, HIDDEN, dtype=torch.bfloat16)
    of_torch = torch.zeros(TOKENS, HIDDEN, dtype=torch.bfloat16)
    variants = ("naive", "blocked", "int8", "threaded")
    return {
        "mx.quantized_matmul": lambda: mx.quantized_matmul(
            x, *packed, group_size=GROUP_SIZE, bits=BITS
        ),
        **{
            variant: functools.partial(solution.get(f"kernels.matmul_{variant}"), x, w)
            for variant in variants
        },
        "PyTorch, bfloat16": lambda: torch.nn.functional.linear(of_torch, dense),
    }


def few(num_tokens: int, solution: Solution) -> Ways:
    """Return the ways to multiply a few vectors on one core: in tiles, or by turns."""
    rows = [_draw(HIDDEN) for _ in range(num_tokens)]
    x = mx.stack(rows)
    _, w = _packed(solution)
    mx.eval(x)
    tiled = solution.get("kernels.matmul_int8")
    single = solution.get("kernels.matvec_int8")
    return {
        ONE_BY_ONE: lambda: [single(row, w) for row in rows],
        KERNEL: lambda: tiled(x, w),
    }


def attention(variant: str, queries: int, keys: int, solution: Solution) -> Ways:
    """Return the ways for some queries to attend to some keys."""
    query = _draw(1, HEADS, queries, HEAD_DIM)
    key, value = (_draw(1, KV_HEADS, keys, HEAD_DIM) for _ in range(2))
    arguments = (query, key, value)
    mx.eval(arguments)
    scale = HEAD_DIM**-0.5
    ways = {
        "week 1": solution.get("attention.scaled_dot_product_attention_grouped"),
        ONLINE: solution.get("kernels.attention_online"),
        KERNEL: solution.get(f"kernels.attention_{variant}"),
    }
    return {
        "mx.fast": lambda: mx.fast.scaled_dot_product_attention(
            *arguments, scale=scale, mask="causal"
        ),
        **{
            name: functools.partial(way, *arguments, scale, "causal")
            for name, way in ways.items()
        },
    }


def addition(solution: Solution) -> Ways:
    """Return the way to add a few numbers, whose time is nearly all dispatch."""
    del solution
    x = _draw(1, HIDDEN)
    return {"mx.add": _chain(lambda y: y + x, x)}


def norm(solution: Solution) -> Ways:
    """Return the ways to normalise a vector."""
    x, weight = _draw(1, HIDDEN), _draw(HIDDEN)
    layer = solution.get("layer_norm.RMSNorm")(HIDDEN, weight, EPS)
    own = solution.get("kernels.rms_norm")
    return {
        "week 1": _chain(layer, x),
        "mx.fast": _chain(lambda y: mx.fast.rms_norm(y, weight, EPS), x),
        KERNEL: _chain(lambda y: own(y, weight, EPS), x),
    }


def sum_and_norm(solution: Solution) -> Ways:
    """Return the ways to add two vectors, and to normalise the sum."""
    x, weight = _draw(1, HIDDEN), _draw(HIDDEN)
    layer = solution.get("layer_norm.RMSNorm")(HIDDEN, weight, EPS)
    own = solution.get("kernels.add_rms_norm")
    return {
        "week 1": _chain(lambda y: layer(y + x), x),
        KERNEL: _chain(lambda y: own(y, x, weight, EPS)[1], x),
    }


def rotation(solution: Solution) -> Ways:
    """Return the ways to rotate the queries of a token."""
    x = _draw(1, 1, HEADS, HEAD_DIM)
    rope = solution.get("positional_encoding.RoPE")(HEAD_DIM, 2048, BASE)
    own = solution.get("kernels.rope")
    offset = 100
    return {
        "week 1": _chain(lambda y: rope(y, slice(offset, offset + 1)), x),
        "mx.fast": _chain(
            lambda y: mx.fast.rope(
                y.swapaxes(1, 2),
                HEAD_DIM,
                traditional=False,
                base=BASE,
                scale=1.0,
                offset=offset,
            ).swapaxes(1, 2),
            x,
        ),
        KERNEL: _chain(lambda y: own(y, offset, BASE), x),
    }


def gate(solution: Solution) -> Ways:
    """Return the ways to compute the gate of the MLP."""
    x, up = _draw(1, INTERMEDIATE), _draw(1, INTERMEDIATE)
    silu = solution.get("basics.silu")
    own = solution.get("kernels.swiglu")

    def plain(y: mx.array) -> mx.array:
        return silu(y) * up

    return {
        "week 1": _chain(plain, x),
        "mx.compile": _chain(mx.compile(plain), x),
        KERNEL: _chain(lambda y: own(y, up), x),
    }


PRODUCT = f"product with {TOKENS} vectors"
FEW = {2: "product with 2 vectors", 8: "product with 8 vectors"}
PROMPT = "attention, prompt of 256"
LONG_PROMPT = "attention, prompt of 1024"
DECODING = "attention, one token over 4096"
ADDITION = "addition of 896"
NORM = "norm of 896"
SUM_AND_NORM = "sum and norm of 896"
ROTATION = "rotation of 14 heads"
GATE = "gate of 4864"

WORK: dict[str, Callable[[Solution], Ways]] = {
    PRODUCT: product,
    **{name: functools.partial(few, number) for number, name in FEW.items()},
    PROMPT: functools.partial(attention, "tiled", 256, 256),
    LONG_PROMPT: functools.partial(attention, "tiled", 1024, 1024),
    DECODING: functools.partial(attention, "split", 1, 4096),
    ADDITION: addition,
    NORM: norm,
    SUM_AND_NORM: sum_and_norm,
    ROTATION: rotation,
    GATE: gate,
}


def cases(quick: bool) -> list[Row]:
    """Return what is timed; in a quick run, only the last."""
    return [{"work": name} for name in [*WORK][-1 if quick else 0 :]]


def measure(case: Row, solution: Solution) -> Iterable[Row]:
    """Time all ways of one operation."""
    name = str(case["work"])
    try:
        with mx.stream(mx.cpu):
            ways = WORK[name](solution)
            steps = {way: _step(call) for way, call in ways.items()}
            times = in_turns(steps, ROUNDS)
    except ImportError as error:
        raise CourseError(str(error)) from error
    in_a_row = CHAIN if _is_chained(name) else 1
    for way, own in times.items():
        spread = own.spread
        yield {
            "way": way,
            "time_us": four_digits(spread.middle / in_a_row * 1e6),
            "low_us": four_digits(spread.low / in_a_row * 1e6),
            "high_us": four_digits(spread.high / in_a_row * 1e6),
        }


def times_us(rows: Sequence[Row], work: str) -> dict[str, float]:
    """Return the microseconds of each way."""
    return {
        str(row["way"]): float(row["time_us"]) for row in rows if row["work"] == work
    }


def _is_chained(work: str) -> bool:
    """Tell whether one of these takes only microseconds."""
    return work not in {PRODUCT, *FEW.values(), PROMPT, LONG_PROMPT, DECODING}


def _step(call: Callable[[], Any]) -> Step:
    """Evaluate a result of MLX. PyTorch's is computed already."""

    def step() -> None:
        result = call()
        if isinstance(result, mx.array | list):
            mx.eval(result)

    return step


def _chain(function: Chained, x: mx.array) -> Callable[[], mx.array]:
    """Apply a function repeatedly, each time to the last result."""

    def call() -> mx.array:
        y = x
        for _ in range(CHAIN):
            y = function(y)
        return y

    return call


def _packed(solution: Solution) -> tuple[tuple[mx.array, mx.array, mx.array], Any]:
    """Quantise a random matrix: as MLX has it, and as `QuantizedWeights`."""
    words, scales, biases = mx.quantize(_draw(INTERMEDIATE, HIDDEN), GROUP_SIZE, BITS)
    made = solution.get("quantize.QuantizedWeights")
    mx.eval(words, scales, biases)
    packed = (words, scales, biases)
    return packed, made(scales, biases, GROUP_SIZE, BITS, words)


def _draw(*shape: int) -> mx.array:
    """Return random numbers, already evaluated."""
    numbers = mx.random.normal(shape)
    mx.eval(numbers)
    return numbers


def summary(rows: Sequence[Row]) -> list[Row]:
    """Return a row for each way of each operation."""
    return [
        {
            "work": row["work"],
            "way": row["way"],
            "us": row["time_us"],
            "half of the rounds": f"{row['low_us']} to {row['high_us']}",
        }
        for row in rows
    ]


def draw(rows: Sequence[Row]) -> Figure:
    """Draw the times on a logarithmic axis, grouped by operation."""
    figure = Figure(figsize=(6, 0.8 + 0.22 * len(rows)), layout="constrained")
    axes = figure.subplots()
    names = [f"{row['work']}: {row['way']}" for row in rows][::-1]
    axes.barh(names, [float(row["time_us"]) for row in rows][::-1])
    axes.set(xscale="log", xlabel="microseconds")
    return figure


LAB = Lab(
    "kernel-times",
    ("work",),
    ("way", "time_us", "low_us", "high_us"),
    cases,
    measure,
    summary,
    draw,
)
