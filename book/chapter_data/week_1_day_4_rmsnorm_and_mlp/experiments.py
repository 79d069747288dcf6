"""What the labs of the course have measured: read from `book/results`."""

import math
from collections.abc import Sequence
from typing import Any

from matplotlib.figure import Figure

from tiny_llm_course.book.drawing import Texts, relabel
from tiny_llm_course.places import RESULTS
from tiny_llm_lab.experiments import ablate, norm_activations, norm_eps
from tiny_llm_lab.experiments.experiment import Lab
from tiny_llm_lab.experiments.norm_speed import claims, contest
from tiny_llm_lab.experiments.norm_speed import lab as norm_speed
from tiny_llm_lab.experiments.norm_speed import results as speeds
from tiny_llm_lab.records import Row


def rows_of(lab: Lab) -> list[Row]:
    """Read what a lab has left."""
    return lab.kept(RESULTS).read()


def draw(lab: Lab, text: Texts) -> Figure:
    """Draw a lab's own figure."""
    return relabel(lab.draw(rows_of(lab)), text)


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
    post, pre = (
        numbers[f"depth_{name}_LayerNorm_0"]["last"] for name in ("post", "pre")
    )
    vanished = numbers["depth_post_LayerNorm_100"]["first"]
    return {
        **numbers,
        "depth_millions": numbers["depth_none_0"]["first"] / 1e6,
        "depth_vanished_bound": math.ceil(math.log10(vanished)),
        "depth_last_ratio": post / pre,
        "depth_root": math.sqrt(norm_activations.SIZE.num_layers),
        "gated_overflow_layer": len(finite),
    }


def speed() -> dict[str, Any]:
    """Return how many times as long as RMSNorm the other norms take, form by form."""
    found = speeds.results(rows_of(norm_speed.LAB))
    numbers: dict[str, Any] = {}
    for (library, form, dtype, direction), own in speeds.by_form(found, "norm"):
        if dtype == claims.DTYPE:
            place = f"{library}_{form}_{direction}".lower()
            name = "".join(c if c.isalnum() else "_" for c in place)
            ratio = speeds.across([one.times_first(contest.LAYER) for one in own])
            numbers[name] = {"ratio": ratio.middle, "inverse": 1 / ratio.middle}
            if contest.PARTIAL in own[0].rows:
                partial = [one.times_first(contest.PARTIAL) for one in own]
                numbers[name]["partial"] = speeds.across(partial).middle
    return {"speed": numbers}


def ablation() -> dict[str, Any]:
    """Return the loss of every arm, and how far it is behind the baseline."""
    baseline, *others = ablate.results(rows_of(ablate.LAB))
    untied = next(one for one in others if one.arm.factor == "embeddings")
    saved = untied.parameters - baseline.parameters
    layer_norm = next(one for one in others if one.arm.choice == "LayerNorm")
    ungated = next(one for one in others if one.arm.choice == "GELU")
    return {
        "ablate": {
            f"{one.arm.factor}_{one.arm.choice}": one.loss - baseline.loss
            for one in others
        },
        "gelu_lead": baseline.loss - ungated.loss,
        "layer_lead": baseline.loss - layer_norm.loss,
        "untied_lead": baseline.loss - untied.loss,
        "ablate_spread": max(one.spread for one in (baseline, *others)),
        "ablate_saved": saved,
        "ablate_saved_bytes": 4 * saved,
        "ablate_saved_percent": 100 * saved / untied.parameters,
        "ablate_tokens": ablate.STEPS * ablate.BATCH_SIZE * ablate.SIZE.context,
        "ablate_about": ablate.LAB.kept(RESULTS).about("pdm run lab ablate"),
    }


def tables() -> dict[str, Sequence[Sequence[str]]]:
    """Return what the labs print, in the columns of the chapter."""
    return {
        "lab-claims": [
            [str(cell) for cell in line.values()]
            for line in _without_doubles(
                claims.beside_measurement(rows_of(norm_speed.LAB))
            )
        ],
        "lab-ablation": [
            [
                str(line["factor"]).replace("baseline", "nothing"),
                str(line["choice"]),
                str(line["held-out loss"]),
                str(line["against baseline"]),
                str(line["learning rate"]),
            ]
            for line in ablate.summary(rows_of(ablate.LAB))
        ],
    }


def _without_doubles(lines: Sequence[Row]) -> list[Row]:
    """Leave out what is written by hand where the same library has another form."""

    def place(line: Row) -> tuple[object, ...]:
        return line["claim"], line["measured"], str(line["in"]).split(",")[0]

    others = {place(line) for line in lines if contest.BY_HAND not in str(line["in"])}
    return [
        line
        for line in lines
        if contest.BY_HAND not in str(line["in"]) or place(line) not in others
    ]
