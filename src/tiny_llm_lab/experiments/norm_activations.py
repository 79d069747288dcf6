"""How activations and gradients grow with depth, before and during training.

Models of twelve layers, which differ in the norm and its place, are trained for a
hundred steps. At some of these, the same held-out rows are passed forward and backward.
Step 0 is a model with random weights.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import mlx.core as mx
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tiny_llm_course.solution import Solution
from tiny_llm_lab.experiments import small_training
from tiny_llm_lab.experiments.experiment import Lab
from tiny_llm_lab.experiments.small_model import (
    Design,
    SmallModel,
    Weights,
    arrays_of,
    new_weights,
)
from tiny_llm_lab.experiments.small_training import BATCH_SIZE, Budget, next_token_loss
from tiny_llm_lab.experiments.training_speed import blas_here
from tiny_llm_lab.records import Row, Value, four_digits

SIZE = replace(small_training.SIZE, num_layers=12)
NORMS = (
    ("none", "pre"),
    ("LayerNorm", "post"),
    ("LayerNorm", "pre"),
    ("RMSNorm", "pre"),
)
FEED_FORWARDS = ("GELU", "SwiGLU")
"""A gate multiplies two branches: without a norm, that squares large values."""

BUDGET = Budget(steps=100, learning_rate=0.003, seed=0)
SHOWN_STEPS = (0, 1, 3, 10, 20, 30, 40, 60, 80, 100)


def cases(quick: bool) -> list[Row]:
    """Return every norm with both feed-forward layers, or the extremes of one."""
    return [
        {"feed_forward": feed_forward, "norm": norm, "place": place}
        for feed_forward in (FEED_FORWARDS[:1] if quick else FEED_FORWARDS)
        for norm, place in (NORMS[::3] if quick else NORMS)
    ]


def measure(case: Row, solution: Solution) -> Iterable[Row]:
    """Train one model, and measure activations and gradients at some steps.

    A model whose loss is not finite is not trained.
    """
    design = Design(
        norm=str(case["norm"]),
        place=str(case["place"]),
        feed_forward=str(case["feed_forward"]),
    )
    looks = Looks(solution, design)
    weights = new_weights(solution, design, SIZE, BUDGET.seed)
    yield from (before := looks.rows(0, weights))
    if not math.isfinite(float(before[0]["loss"])):
        return
    for step in small_training.train(solution, design, SIZE, BUDGET):
        if step.number in SHOWN_STEPS:
            yield from looks.rows(step.number, step.weights)


class Looks:
    """Measures a model on the same rows at any step.

    Args:
        solution: Whose blocks the model is made of.
        design: What it is made of.
    """

    def __init__(self, solution: Solution, design: Design) -> None:
        self.solution = solution
        self.design = design
        rows = small_training.text_rows(
            small_training.HELD_OUT_SEED, BATCH_SIZE, SIZE.context + 1, held_out=True
        )
        self.batch = small_training.to_tokens(rows)

    def rows(self, step: int, weights: Weights) -> list[Row]:
        """Measure the residual stream and the gradients, a row for each layer.

        Layer 0 is the embedding; the stream of a layer is its output.
        """
        streams = self._model(weights).streams(self.batch[:, :-1])
        loss, gradients = mx.value_and_grad(self._loss)(weights)
        embedding = {"embedding": gradients["embedding"]}
        by_layer = [embedding, *gradients["layers"]]
        return [
            {
                "step": step,
                "layer": layer,
                "standard_deviation": four_digits(float(mx.std(stream))),
                "largest": four_digits(float(mx.max(mx.abs(stream)))),
                "gradient_norm": four_digits(float(_norm(by_layer[layer]))),
                "loss": four_digits(float(loss)),
            }
            for layer, stream in enumerate(streams)
        ]

    def _model(self, weights: Weights) -> SmallModel:
        """Make the model with these weights."""
        return SmallModel(self.solution, self.design, SIZE, weights)

    def _loss(self, weights: Weights) -> mx.array:
        """Compute the loss with these weights."""
        return next_token_loss(self._model(weights), self.batch)


def about(solution: Solution, quick: bool) -> Mapping[str, Value]:
    """Return the BLAS, with a warning if it makes training slow."""
    del solution, quick
    return blas_here()


def summary(rows: Sequence[Row]) -> list[Row]:
    """Return the growth with depth for each model, at the first and the last step."""
    return [
        {
            "feed-forward": case["feed_forward"],
            "norm": case["norm"],
            "place": "" if case["norm"] == "none" else case["place"],
            "step": step,
            "loss": f"{look.last('loss'):.2f}",
            "std of layer 0": f"{look.values('standard_deviation')[0]:.3g}",
            f"of layer {SIZE.num_layers}": f"{look.last('standard_deviation'):.3g}",
            "largest": f"{look.last('largest'):.3g}",
            "gradient of layer 1": f"{look.values('gradient_norm')[1]:.3g}",
            f"of layer {SIZE.num_layers} ": f"{look.last('gradient_norm'):.3g}",
        }
        for case in cases(quick=False)
        for step in (SHOWN_STEPS[0], SHOWN_STEPS[-1])
        if (look := Look.at(rows, case, step)).rows
    ]


@dataclass(frozen=True)
class Look:
    """The measurements of one model at one step, a row for each layer."""

    rows: Sequence[Row]

    @classmethod
    def at(cls, rows: Sequence[Row], case: Row, step: int) -> "Look":
        """Select the rows of a model and a step, in the order of the layers."""
        own = [
            row
            for row in rows
            if row["step"] == step and all(row[key] == case[key] for key in case)
        ]
        return cls(sorted(own, key=lambda row: int(row["layer"])))

    def values(self, column: str) -> list[float]:
        """Return a column, from layer 0 on."""
        return [float(row[column]) for row in self.rows]

    def last(self, column: str) -> float:
        """Return the value of the last layer."""
        return self.values(column)[-1]


def draw(rows: Sequence[Row]) -> Figure:
    """Draw both measures over depth before training, and over the steps."""
    figure = Figure(figsize=(5, 5.6), layout="constrained")
    panels = figure.subplots(2, 2, sharey="row")
    for (over_depth, over_steps), shown in zip(panels, SHOWN, strict=True):
        over_depth.set(ylabel=shown.name, yscale="log", xlabel="layer, before training")
        over_steps.set(xlabel=f"step, {shown.where}")
        for case in cases(quick=False):
            _draw_model(over_depth, over_steps, rows, case, shown)
    handles, labels = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2)
    return figure


@dataclass(frozen=True)
class Shown:
    """A measure in the figure.

    Attributes:
        column: The column of its values.
        name: The label of the axis.
        layer: The layer whose values are drawn over the steps: the most extreme one.
        where: The name of that layer in the label.
    """

    column: str
    name: str
    layer: int
    where: str


SHOWN = (
    Shown("standard_deviation", "std of the stream", SIZE.num_layers, "last layer"),
    Shown("gradient_norm", "norm of the gradient", 1, "first layer"),
)


def _draw_model(
    over_depth: Axes, over_steps: Axes, rows: Sequence[Row], case: Row, shown: Shown
) -> None:
    """Draw the lines of one model, without values that are not finite."""
    number = NORMS.index((str(case["norm"]), str(case["place"])))
    name = "no norm" if case["norm"] == "none" else f"{case['place']}-{case['norm']}"
    dash = "-" if case["feed_forward"] == FEED_FORWARDS[0] else ":"
    looks = {step: Look.at(rows, case, step) for step in SHOWN_STEPS}
    seen = {
        step: look.values(shown.column) for step, look in looks.items() if look.rows
    }
    if not seen:
        return
    depths = list(range(SIZE.num_layers + 1))
    along = [values[shown.layer] for values in seen.values()]
    for axes, x, y in ((over_depth, depths, seen[0]), (over_steps, list(seen), along)):
        axes.plot(
            x,
            [_drawable(value) for value in y],
            dash + "osd^"[number],
            color=f"C{number}",
            markersize=3.5,
            label=f"{name}, {case['feed_forward']}",
        )


def _drawable(value: float) -> float:
    """Leave a gap where a value is infinite."""
    return value if math.isfinite(value) else math.nan


def _norm(gradients: Weights) -> mx.array:
    """Compute the length of all gradients of a layer as one vector."""
    return mx.linalg.norm(mx.concatenate([g.flatten() for g in arrays_of(gradients)]))


LAB = Lab(
    "norm-activations",
    ("feed_forward", "norm", "place"),
    ("step", "layer", "standard_deviation", "largest", "gradient_norm", "loss"),
    cases,
    measure,
    summary,
    draw,
    about,
    in_parallel=True,
)
