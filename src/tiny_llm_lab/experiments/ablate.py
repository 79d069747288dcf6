"""An ablation of a transformer's design: one choice is changed at a time.

Every arm is trained on the same number of tokens, first with one seed at each learning
rate of a sweep, then with two more seeds at its best rate. With the same seed, all arms
see the same text in the same order.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from statistics import mean, stdev

from matplotlib.figure import Figure

from tiny_llm_course.solution import Solution
from tiny_llm_lab.experiments import small_training
from tiny_llm_lab.experiments.experiment import Lab, num_processes
from tiny_llm_lab.experiments.small_model import (
    EMBEDDINGS,
    GATED,
    NORMS,
    PLACES,
    POSITIONS,
    UNGATED,
    Design,
    SmallModel,
)
from tiny_llm_lab.experiments.small_training import BATCH_SIZE, SIZE, Budget
from tiny_llm_lab.experiments.training_speed import training_speed
from tiny_llm_lab.records import Row, Value

BASELINE = "baseline"
CHOICES = {
    "norm": NORMS,
    "place": PLACES,
    "feed_forward": (*UNGATED, *GATED),
    "positions": POSITIONS,
    "embeddings": EMBEDDINGS,
}
STEPS = 480
LEARNING_RATES = (0.003, 0.01, 0.03)
SEEDS = (0, 1, 2)
LAST_STEPS = 20
"""The number of steps over which the training loss is averaged."""


@dataclass(frozen=True)
class Arm:
    """One model of the comparison: Qwen2's choices except for one factor.

    Attributes:
        factor: A field of `Design`, or `BASELINE`.
        choice: Its value in this arm.
    """

    factor: str
    choice: str

    @property
    def design(self) -> Design:
        """Return the design of the model."""
        changed = {} if self.factor == BASELINE else {self.factor: self.choice}
        return replace(Design(), **changed)


def arms() -> list[Arm]:
    """Return the baseline, and all arms that differ from it in one factor."""
    usual = asdict(Design())
    return [
        Arm(BASELINE, ", ".join(usual.values())),
        *(
            Arm(factor, choice)
            for factor, choices in CHOICES.items()
            for choice in choices
            if choice != usual[factor]
        ),
    ]


EXTREMES = (
    (arms()[0], 0.01),
    (Arm("feed_forward", "GELU"), 0.01),
    (Arm("positions", "none"), 0.01),
    (Arm("norm", "none"), 0.003),
)
"""The baseline, the best and the two worst of `book/results`, at their best rates."""


def cases(quick: bool) -> list[Row]:
    """Return the sweep of every arm, or only the extreme cases."""
    if quick:
        return [_case(*extreme, SEEDS[0]) for extreme in EXTREMES]
    return [_case(arm, rate, SEEDS[0]) for arm in arms() for rate in LEARNING_RATES]


def repeats(rows: Sequence[Row]) -> list[Row]:
    """Return the cases with the best rates and the other seeds, after the sweep."""
    if len(rows) < len(cases(quick=False)):
        return []
    return [
        _case(result.arm, result.learning_rate, seed)
        for seed in SEEDS[1:]
        for result in results(rows)
    ]


def _case(arm: Arm, rate: float, seed: int) -> Row:
    """Describe one training."""
    return {**asdict(arm), "learning_rate": rate, "seed": seed}


def measure(case: Row, solution: Solution) -> Iterable[Row]:
    """Train one model, and measure it on text that it has not seen."""
    design = Arm(str(case["factor"]), str(case["choice"])).design
    budget = Budget(STEPS, float(case["learning_rate"]), int(case["seed"]))
    losses: list[float] = []
    weights = {}
    for step in small_training.train(solution, design, SIZE, budget):
        losses.append(step.loss)
        weights = step.weights
    model = SmallModel(solution, design, SIZE, weights)
    yield {
        "parameters": small_training.num_parameters(weights),
        "train_loss": round(mean(losses[-LAST_STEPS:]), 4),
        "held_out_loss": round(small_training.held_out_loss(model), 4),
    }


def about(solution: Solution, quick: bool) -> Mapping[str, Value]:
    """Return the speed of training here, and how long the run will take."""
    speed = training_speed(solution)
    num_cases = len(arms()) * (len(LEARNING_RATES) + len(SEEDS) - 1)
    if quick:
        num_cases = len(cases(quick))
    tokens = num_cases * STEPS * BATCH_SIZE * SIZE.context
    seconds = tokens / float(speed["mlx_tokens_per_s"]) / num_processes(LAB)
    return {**speed, "tokens": tokens, "expected_hours": round(seconds / 3600, 1)}


@dataclass(frozen=True)
class Result:
    """The results of an arm.

    Attributes:
        arm: The arm.
        learning_rate: The one with the least held-out loss for the first seed.
        losses: The held-out loss for each seed at that rate.
        parameters: Number of trained numbers.
    """

    arm: Arm
    learning_rate: float
    losses: Mapping[int, float]
    parameters: int

    @property
    def loss(self) -> float:
        """Average over the seeds."""
        return mean(self.losses.values())

    @property
    def spread(self) -> float:
        """Compute the standard deviation over the seeds, two at least."""
        return stdev(self.losses.values())

    @property
    def is_at_edge(self) -> bool:
        """Tell whether a learning rate outside of the sweep may be better."""
        return self.learning_rate in (LEARNING_RATES[0], LEARNING_RATES[-1])

    def gaps_to(self, other: "Result") -> list[float]:
        """Return the loss minus that of another arm, for each seed that both have."""
        return [
            self.losses[seed] - other.losses[seed]
            for seed in sorted(self.losses.keys() & other.losses.keys())
        ]


def results(rows: Sequence[Row]) -> list[Result]:
    """Find the best learning rate of every arm that was trained."""
    found = []
    for arm in arms():
        own = [row for row in rows if (row["factor"], row["choice"]) == _key(arm)]
        by_rate = {
            rate: {
                int(row["seed"]): float(row["held_out_loss"])
                for row in own
                if float(row["learning_rate"]) == rate
            }
            for rate in sorted({float(row["learning_rate"]) for row in own})
        }
        if by_rate:
            best = min(by_rate, key=lambda rate: _rank(by_rate[rate][SEEDS[0]]))
            parameters = int(own[0]["parameters"])
            found.append(Result(arm, best, by_rate[best], parameters))
    return found


def summary(rows: Sequence[Row]) -> list[Row]:
    """Return, for each arm, its loss beside that of the baseline."""
    found = results(rows)
    baseline = found[0]
    return [
        {
            "factor": result.arm.factor.replace("_", "-"),
            "choice": result.arm.choice,
            "learning rate": f"{result.learning_rate:g}"
            + (" (edge)" if result.is_at_edge else ""),
            "seeds": len(result.losses),
            "held-out loss": f"{result.loss:.3f}"
            + (f" ± {result.spread:.3f}" if len(result.losses) > 1 else ""),
            "against baseline": difference(result, baseline),
            "parameters": f"{result.parameters:,}",
            "float32 bytes": f"{4 * result.parameters:,}",
        }
        for result in found
    ]


def difference(result: Result, baseline: Result) -> str:
    """Write the difference of an arm's loss, and whether seeds disagree on its sign."""
    if result is baseline:
        return ""
    gaps = result.gaps_to(baseline)
    if not gaps:
        return ""
    agrees = all(gap > 0 for gap in gaps) or all(gap < 0 for gap in gaps)
    return f"{mean(gaps):+.3f}" + ("" if agrees else " (seeds disagree)")


def draw(rows: Sequence[Row]) -> Figure:
    """Draw the held-out loss of every arm: a dot per seed, a line at the baseline."""
    found = list(reversed(results(rows)))
    figure = Figure(figsize=(5, 0.3 * len(found) + 0.8), layout="constrained")
    axes = figure.subplots()
    for place, result in enumerate(found):
        losses = list(result.losses.values())
        axes.plot(losses, [place] * len(losses), "o", color="C0", alpha=0.6)
        axes.plot(result.loss, place, "|", color="C1", markersize=14)
    axes.axvline(found[-1].loss, color="C1", linewidth=0.8)
    axes.set_yticks(range(len(found)), [_label(result.arm) for result in found])
    axes.set_xlabel("loss on held-out text, nats per token")
    return figure


def _label(arm: Arm) -> str:
    """Name an arm in the figure."""
    if arm.factor == BASELINE:
        return "baseline"
    return f"{arm.factor.replace('_', '-')}: {arm.choice}"


def _key(arm: Arm) -> tuple[str, str]:
    """Return the columns that name an arm."""
    return arm.factor, arm.choice


def _rank(loss: float) -> float:
    """Return a sort key that puts trainings that ended in NaN last."""
    return math.inf if math.isnan(loss) else loss


LAB = Lab(
    "ablate",
    ("factor", "choice", "learning_rate", "seed"),
    ("parameters", "train_loss", "held_out_loss"),
    cases,
    measure,
    summary,
    draw,
    about,
    more=repeats,
    in_parallel=True,
)
