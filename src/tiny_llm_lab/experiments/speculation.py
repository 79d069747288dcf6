"""When a draft pays: what a step costs by its tokens, and how often drafts are right.

Steps of the large model are timed over few tokens, in caches that can rewind, and those
of drafts of the embedded model beside them. Then it tells stories: how many of their
tokens each draft would have proposed, and how long they take with it.
"""

from collections.abc import Iterable, Iterator, Sequence
from statistics import fmean, stdev
from typing import Any

import mlx.core as mx
from matplotlib.figure import Figure

from tiny_llm_course.checkpoint import load
from tiny_llm_course.solution import Solution
from tiny_llm_lab.bench.models import EMBEDDED_MODEL, QWEN2_0_5B
from tiny_llm_lab.experiments.draft_arithmetic import break_even, kept, kept_in, speed
from tiny_llm_lab.experiments.draft_shares import chances, hits
from tiny_llm_lab.experiments.draft_stories import alone, each_in_turn, together
from tiny_llm_lab.experiments.drafts import COUNTS, drafts, model_of, prompts
from tiny_llm_lab.experiments.experiment import Lab
from tiny_llm_lab.records import Row, four_digits
from tiny_llm_lab.timing import Rounds, Spread, Step, in_turns

TIME, GREEDY, SAMPLED = "time", "greedy", "sampled"
"""What is measured: steps, and how often drafts are right, in two kinds of text."""

SPEED, SAME = "speed", "same"
"""Besides: how long texts take, and how many are the same with a draft."""

TOKENS = (1, 2, 3, 4, 5, 8)
"""In a step of the large model."""

LENGTH = 4
"""How many tokens a draft proposes."""

LENGTHS = (2, 4, 7)
"""How many the counts propose: a step then has 3 tokens, 5 or 8."""

PLAIN = "without a draft"
CONTEXT = 128
"""How many tokens a text has when a step is timed."""

STEP_ROUNDS = Rounds(budget_s=60.0, least=7, most=400)
TEXT_ROUNDS = Rounds(budget_s=150.0, least=20, most=100)


def cases(quick: bool) -> list[Row]:
    """Return what is measured; in a quick run, only the steps of the embedded model."""
    found: list[Row] = [
        {"model": EMBEDDED_MODEL, "measured": one}
        for one in (TIME, GREEDY, SAMPLED, SPEED, SAME)
    ]
    return found[:1] if quick else [*found, {"model": QWEN2_0_5B, "measured": TIME}]


def measure(case: Row, solution: Solution) -> Iterable[Row]:
    """Measure one of them."""
    match case["measured"]:
        case "time":
            return times(str(case["model"]), solution)
        case "greedy":
            return greedy(solution)
        case "sampled":
            found = chances(solution).items()
            return [
                row(name, "share", averaged(map(fmean, one))) for name, one in found
            ]
        case "same":
            return same(solution)
        case _:
            return speeds(solution)


def row(
    of: str, unit: str, spread: Spread, proposals: int = 1, ms: float | str = ""
) -> Row:
    """Return a row with a value between its quartiles, or between its errors."""
    return {
        "of": of,
        "proposals": proposals,
        "unit": unit,
        "value": four_digits(spread.middle),
        "low": four_digits(spread.low),
        "high": four_digits(spread.high),
        "ms": ms,
    }


def times(model: str, solution: Solution) -> Iterator[Row]:
    """Time steps over few tokens, and those of drafts, in turns with a plain one."""
    large = model_of(model, solution)
    cache = solution.get("kv_cache.TinyKvFullCache")
    steps = {PLAIN: step_of(large, [cache() for _ in range(large.num_hidden_layers)])}
    for number in TOKENS:
        steps[str(number)] = step_of(large, new_caches(large, solution), number)
    if model == EMBEDDED_MODEL:
        for name, draft in drafts(solution).items():
            steps[name] = step_of(draft, new_caches(draft, solution))
    found = in_turns(steps, STEP_ROUNDS)
    for name, own in found.items():
        ms = four_digits(own.spread.middle * 1e3)
        yield row(name, "times", own.over(found[PLAIN]), ms=ms)


def new_caches(model: Any, solution: Solution) -> list[Any]:  # noqa: ANN401 - of a solution
    """Return caches that can rewind, as `speculative_generate` takes them."""
    cache, pool = (
        solution.get(f"paged_kv_cache.TinyKvPaged{kind}") for kind in ("Cache", "Pool")
    )
    return [cache(pool()) for _ in range(model.num_hidden_layers)]


def step_of(model: Any, caches: Sequence[Any], number: int = 1) -> Step:  # noqa: ANN401 - of a solution
    """Return a step over some tokens. Each begins with the same text in its caches."""
    mx.eval(model(mx.array([[1 + one % 97 for one in range(CONTEXT)]]), 0, caches))
    new = mx.array([[5 + one for one in range(number)]])

    def step() -> object:
        for one in caches:
            one.offset = CONTEXT
        return mx.argmax(model(new, CONTEXT, caches)[0], axis=-1).tolist()

    return step


def greedy(solution: Solution) -> Iterator[Row]:
    """Yield how often drafts are right, and how many tokens a step would give."""
    for name, found in hits(solution).items():
        yield row(name, "share", averaged(map(fmean, found)))
        for length in LENGTHS:
            tokens = averaged(kept_in(one.tolist(), length) for one in found)
            yield row(name, "tokens", tokens, length)


def averaged(values: Iterable[float]) -> Spread:
    """Return the mean of some texts, between its standard errors."""
    numbers = list(map(float, values))
    error = stdev(numbers) / len(numbers) ** 0.5
    return Spread(fmean(numbers) - error, fmean(numbers), fmean(numbers) + error)


def speeds(solution: Solution) -> Iterator[Row]:
    """Tell stories with each draft and without, in turns, each round another one."""
    large, asked = model_of(EMBEDDED_MODEL, solution), prompts(load())
    steps = {PLAIN: each_in_turn(asked, alone(solution, large))}
    known = dict[str, tuple[str, int]]()
    for name, draft in drafts(solution).items():
        for length in LENGTHS if name == COUNTS else (LENGTH,):
            tell = together(solution, draft, large, length)
            known[f"{name} {length}"] = name, length
            steps[f"{name} {length}"] = each_in_turn(asked, tell)
    found = in_turns(steps, TEXT_ROUNDS)
    for key, (name, length) in known.items():
        ms = four_digits(found[key].spread.middle * 1e3)
        yield row(name, "speed", found[PLAIN].over(found[key]), length, ms)


def same(solution: Solution) -> Iterator[Row]:
    """Count the stories that are, word for word, those without a draft."""
    large, draft = model_of(EMBEDDED_MODEL, solution), drafts(solution)[COUNTS]
    plain, drafted = alone(solution, large), together(solution, draft, large, LENGTH)
    equal = [float(plain(one) == drafted(one)) for one in prompts(load())]
    yield row(COUNTS, "share", averaged(equal), LENGTH)


def value_of(
    rows: Sequence[Row], measured: str, of: str, unit: str = "times", proposals: int = 1
) -> float:
    """Return a value of the embedded model.

    Args:
        rows: All rows.
        measured: How it was.
        of: A draft, or the number of tokens of a step.
        unit: "times" a plain step, "share", "tokens" of a step, or "speed".
        proposals: How many there are.
    """
    asked = (EMBEDDED_MODEL, measured, of, unit, proposals)
    names = ("model", "measured", "of", "unit", "proposals")
    # A number of tokens is read as one from the file.
    return next(
        float(one["value"])
        for one in rows
        if tuple(str(one[name]) for name in names) == tuple(map(str, asked))
    )


def comparison(rows: Sequence[Row]) -> list[Row]:
    """Return for each draft what the arithmetic says, and what was measured."""
    found = list[Row]()
    for one in rows:
        if one["unit"] == "speed":
            draft, length = str(one["of"]), int(one["proposals"])
            share = value_of(rows, GREEDY, draft, "share")
            tokens = value_of(rows, GREEDY, draft, "tokens", length)
            cost = value_of(rows, TIME, draft)
            longer = value_of(rows, TIME, str(length + 1))
            found.append(
                {
                    "draft": draft,
                    "proposals": length,
                    "right": share,
                    "tokens, if by chance": four_digits(kept(share, length)),
                    "tokens": tokens,
                    "cost of a proposal": cost,
                    "a step takes": longer,
                    "so speed": four_digits(speed(tokens, length, cost, longer)),
                    "measured": one["value"],
                }
            )
    return found


def plain_ms(rows: Sequence[Row]) -> float:
    """Return the milliseconds of a step of the embedded model without a draft."""
    asked = {"model": EMBEDDED_MODEL, "measured": TIME, "of": PLAIN}
    return next(float(row["ms"]) for row in rows if asked.items() <= row.items())


def step_times(rows: Sequence[Row], model: str) -> dict[int, float]:
    """Return how many times as long as a plain step one over some tokens takes."""
    return {
        int(row["of"]): float(row["value"])
        for row in rows
        if (row["model"], row["measured"]) == (model, TIME)
        and str(row["of"]).isdecimal()
    }


def break_evens(rows: Sequence[Row], model: str, cost: float) -> dict[int, float]:
    """Return how often a draft has to be right to cost nothing, by its proposals.

    Args:
        rows: All rows.
        model: The large model.
        cost: What each proposal costs, in plain steps.

    Returns:
        What no draft can reach is left out.
    """
    longer = step_times(rows, model)
    found = {
        tokens - 1: break_even(tokens - 1, cost, longer[tokens])
        for tokens in longer
        if tokens > 1
    }
    return {length: share for length, share in found.items() if share is not None}


def summary(rows: Sequence[Row]) -> list[Row]:
    """Return a line for each value, with its quartiles or errors."""
    return [
        {
            "model": row["model"],
            "measured": row["measured"],
            "of": row["of"],
            "proposals": row["proposals"],
            "unit": row["unit"],
            "value": row["value"],
            "from, to": f"{row['low']}, {row['high']}",
            "ms": row["ms"],
        }
        for row in rows
    ]


def draw(rows: Sequence[Row]) -> Figure:
    """Draw the time of a step over its tokens, as a multiple of a plain one."""
    figure = Figure(figsize=(5, 3.2), layout="constrained")
    axes = figure.subplots()
    for model in dict.fromkeys(str(row["model"]) for row in rows):
        found = step_times(rows, model)
        axes.plot([*found], [*found.values()], marker="o", label=model)
    axes.set(xlabel="tokens in a step", ylabel="times a step over one", ylim=0)
    axes.legend()
    return figure


LAB = Lab(
    "speculation",
    ("model", "measured"),
    ("of", "proposals", "unit", "value", "low", "high", "ms"),
    cases,
    measure,
    summary,
    draw,
    claims=comparison,
)
