"""What a step of the engine takes, by the tokens of a prompt that come beside streams.

Four texts generate a token each, and a piece of a fifth one's prompt is computed in the
same step: of no token, of a few, of hundreds.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from matplotlib.figure import Figure

from tiny_llm_course.solution import Solution
from tiny_llm_lab.bench.models import EMBEDDED_MODEL, QWEN2_0_5B, load_mlx
from tiny_llm_lab.experiments.experiment import Lab
from tiny_llm_lab.records import Row, four_digits
from tiny_llm_lab.timing import Rounds, in_turns

STREAMS = 4
"""Texts that generate."""

CONTEXT = 128
"""How many tokens each text has in its caches."""

TOKENS = (0, 4, 12, 28, 60, 124, 252)
"""Of the prompt, so that a step has 4 tokens, 8, 16 and so on up to 256."""

ROUNDS = Rounds(budget_s=45.0, least=7, most=61)


def cases(quick: bool) -> list[Row]:
    """Return the models; in a quick run, only the embedded one."""
    models = (EMBEDDED_MODEL, *([] if quick else [QWEN2_0_5B]))
    return [{"model": model} for model in models]


def measure(case: Row, solution: Solution) -> Iterable[Row]:
    """Time steps with pieces of all lengths, in turns."""
    network = load_mlx(str(case["model"]))
    model = solution.get("qwen2_week3.Qwen2ModelWeek3")(network, True)
    step = step_of(model, solution)
    steps = {str(number): lambda number=number: step(number) for number in TOKENS}
    for name, own in in_turns(steps, ROUNDS).items():
        spread = own.spread
        yield {
            "prompt_tokens": int(name),
            "tokens": int(name) + STREAMS,
            "time_ms": four_digits(spread.middle * 1e3),
            "low_ms": four_digits(spread.low * 1e3),
            "high_ms": four_digits(spread.high * 1e3),
        }


def step_of(model: Any, solution: Solution) -> Callable[[int], Any]:  # noqa: ANN401 - of a solution
    """Return a function that computes a step with so many tokens of a prompt.

    Each step begins with the same caches: what it adds is taken off again.
    """
    cache, run_pieces = (
        solution.get(name)
        for name in ("kv_cache.TinyKvFullCache", "qwen2_week3.run_pieces")
    )
    caches = [
        [cache() for _ in range(model.num_hidden_layers)] for _ in range(STREAMS + 1)
    ]
    run_pieces(model, [[1 + one % 97 for one in range(CONTEXT)]] * len(caches), caches)

    def step(number: int) -> Any:  # noqa: ANN401 - of a solution
        for own in caches:
            for one in own:
                one.offset = CONTEXT
        pieces = [[7]] * STREAMS + [[5 + one % 89 for one in range(number)]]
        shown = len(pieces) if number else STREAMS
        return run_pieces(model, pieces[:shown], caches[:shown])

    return step


def times_ms(rows: Sequence[Row], model: str) -> dict[int, float]:
    """Return the milliseconds of a step of a model, by its tokens in all."""
    return {
        int(row["tokens"]): float(row["low_ms"])
        for row in rows
        if row["model"] == model
    }


def summary(rows: Sequence[Row]) -> list[Row]:
    """Return a row for each step, and how many times it takes one without a prompt."""
    return [
        {
            "model": row["model"],
            "tokens": row["tokens"],
            "time, ms": row["low_ms"],
            "times": four_digits(
                float(row["low_ms"]) / times_ms(rows, str(row["model"]))[STREAMS]
            ),
        }
        for row in rows
    ]


def draw(rows: Sequence[Row]) -> Figure:
    """Draw the time of a step over its tokens."""
    figure = Figure(figsize=(5, 3.2), layout="constrained")
    axes = figure.subplots()
    for model in dict.fromkeys(str(row["model"]) for row in rows):
        found = times_ms(rows, model)
        axes.plot([*found], [*found.values()], label=model)
    axes.set(xscale="log", yscale="log", xlabel="tokens", ylabel="milliseconds")
    axes.legend()
    return figure


LAB = Lab(
    "step-costs",
    ("model",),
    ("prompt_tokens", "tokens", "time_ms", "low_ms", "high_ms"),
    cases,
    measure,
    summary,
    draw,
)
