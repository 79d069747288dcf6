"""What the labs of the course have measured: read from `book/results`."""

from collections.abc import Sequence
from typing import Any

from matplotlib.figure import Figure

from tiny_llm_course.labs import ablate, norm_activations, norm_eps
from tiny_llm_course.labs.experiment import Lab
from tiny_llm_course.labs.kept import Row
from tiny_llm_course.places import RESULTS


def rows_of(lab: Lab) -> list[Row]:
    """Read what a lab has left."""
    return lab.kept(RESULTS).read()


def draw(lab: Lab) -> Figure:
    """Draw a lab's own figure."""
    return lab.draw(rows_of(lab))


def eps_of_tiny() -> dict[str, Any]:
    """Return what eps makes of the smallest vectors, and where float16 ends."""
    rows = rows_of(norm_eps.LAB)
    smallest = min(norm_eps.SIZES)
    sizes = {
        row["eps"]: row["root_mean_square"]
        for row in rows
        if (row["dtype"], row["method"]) == ("float32", norm_eps.INSIDE)
        and float(row["size"]) == smallest
    }
    return {
        "lab_eps_large": sizes[1e-5],
        "lab_eps_qwen": sizes[1e-6],
        "lab_zero_from": min(
            float(row["size"])
            for row in rows
            if row["dtype"] == "float16"
            and row["outcome"] == "zero"
            and float(row["size"]) > 1
        ),
    }


def depth() -> dict[str, Any]:
    """Return how far stream and gradients of deep models go before training."""
    rows = rows_of(norm_activations.LAB)
    numbers: dict[str, Any] = {}
    for case in norm_activations.cases(quick=False):
        if case["feed_forward"] != norm_activations.FEED_FORWARDS[0]:
            continue
        name = "none" if case["norm"] == "none" else f"{case['place']}_{case['norm']}"
        for step in (norm_activations.SHOWN_STEPS[0], norm_activations.SHOWN_STEPS[-1]):
            look = norm_activations.Look.at(rows, case, step)
            gradients = look.values("gradient_norm")
            numbers[f"depth_{name}_{step}"] = {
                "std": look.last("standard_deviation"),
                "first": gradients[1],
                "last": gradients[-1],
                "loss": look.last("loss"),
            }
    gated = norm_activations.Look.at(
        rows, {"feed_forward": "SwiGLU", "norm": "none", "place": "pre"}, 0
    )
    finite = [value for value in gated.values("standard_deviation") if value < 1e38]
    return {
        **numbers,
        "gated_last_finite": finite[-1],
        "gated_overflow_layer": len(finite),
    }


def ablation() -> dict[str, Any]:
    """Return the loss of every arm, and how it differs from the baseline's."""
    found = ablate.results(rows_of(ablate.LAB))
    return {
        "ablate": {
            result.arm.choice.replace("-", "_"): {
                "loss": result.loss,
                "spread": result.spread,
            }
            for result in found
            if result.arm.factor != ablate.BASELINE
        }
        | {"baseline": {"loss": found[0].loss, "spread": found[0].spread}},
    }


def ablation_table() -> Sequence[Sequence[str]]:
    """Return a row for each arm of the comparison."""
    return [
        [
            str(line["choice"]) if line["factor"] != ablate.BASELINE else "baseline",
            str(line["held-out loss"]),
            str(line["against baseline"]),
            str(line["learning rate"]),
            str(line["parameters"]),
        ]
        for line in ablate.summary(rows_of(ablate.LAB))
    ]
