"""What eps does in RMSNorm, for vectors from tiny to huge, in three dtypes.

Each vector is normalised twice: by the solution, which computes in float32, and by the
same formula in the dtype of the input. Both are compared with float64.
"""

from collections.abc import Iterable, Sequence
from itertools import product

import mlx.core as mx
import numpy as np
from matplotlib.figure import Figure

from tiny_llm_course.grading.judgement.closeness import ALLOWED_ULPS, ulps_off
from tiny_llm_course.solution import Solution
from tiny_llm_lab.experiments.experiment import Lab
from tiny_llm_lab.records import Row

DTYPES = ("float32", "float16", "bfloat16")
EPS = (1e-5, 1e-6, 1e-8, 0.0)
SIZES = tuple(float(f"{size:.3g}") for size in np.geomspace(1e-4, 300, 14))
QUICK_SIZES = (SIZES[0], SIZES[6], SIZES[-1])
DIM = 896
NUM_VECTORS = 16
SEED = 0

SMALLEST = 0.01
"""Smaller errors are drawn as this, since a logarithmic scale has no zero."""

INSIDE = "float32 inside"
OUTSIDE = "input dtype"


def cases(quick: bool) -> list[Row]:
    """Return every dtype with every eps and size of the vectors."""
    sizes = QUICK_SIZES if quick else SIZES
    return [
        {"dtype": dtype, "eps": eps, "size": size}
        for dtype in DTYPES
        for eps in EPS
        for size in sizes
    ]


def measure(case: Row, solution: Solution) -> Iterable[Row]:
    """Normalise vectors of one size in two ways."""
    from tiny_llm_course.oracle.layer_norm import rms_norm

    dtype = getattr(mx, str(case["dtype"]))
    eps = float(case["eps"])
    key = mx.random.key(SEED)
    x = (mx.random.normal((NUM_VECTORS, DIM), key=key) * float(case["size"])).astype(
        dtype
    )
    gain = mx.ones(DIM, dtype)
    norm = solution.get("layer_norm.RMSNorm")(DIM, gain, eps)
    mean_square = mx.mean(x * x, axis=-1, keepdims=True)
    outputs = {INSIDE: norm(x), OUTSIDE: x * mx.rsqrt(mean_square + eps)}
    for method, output in outputs.items():
        wide = np.array(output.astype(mx.float32))
        with np.errstate(invalid="ignore"):
            ulps = ulps_off(output, rms_norm(x, gain, eps)).max()
        yield {
            "method": method,
            "outcome": _outcome(wide),
            "largest_error_units": round(float(ulps), 2),
            "root_mean_square": round(float(np.sqrt(np.mean(wide**2))), 6),
        }


def _outcome(output: np.ndarray) -> str:
    """Describe the outcome for the vectors."""
    if np.isnan(output).any():
        return "not a number"
    if np.isinf(output).any():
        return "infinite"
    return "finite" if output.any() else "zero"


def summary(rows: Sequence[Row]) -> list[Row]:
    """Return, for each dtype, eps and method, the sizes that come out right."""
    return [
        {"dtype": dtype, "eps": eps, "computed in": method, **_what_is_right(own)}
        for dtype, eps, method in product(DTYPES, EPS, (INSIDE, OUTSIDE))
        if (own := _rows_of(rows, dtype, eps, method))
    ]


def _rows_of(rows: Sequence[Row], dtype: str, eps: float, method: str) -> list[Row]:
    """Select the rows of one line, a row for each size."""
    wanted = (dtype, eps, method)
    return [
        row
        for row in rows
        if (row["dtype"], float(row["eps"]), row["method"]) == wanted
    ]


def _what_is_right(rows: Sequence[Row]) -> Row:
    """Write which sizes come out right, and the outcome of the others."""
    right = [
        float(row["size"])
        for row in rows
        if row["outcome"] == "finite"
        and float(row["largest_error_units"]) <= ALLOWED_ULPS
    ]
    others = {str(row["outcome"]) for row in rows} - {"finite"}
    return {
        "right for sizes": f"{len(right)} of {len(rows)}",
        "from": min(right, default=""),
        "to": max(right, default=""),
        "else": ", ".join(sorted(others)),
    }


def draw(rows: Sequence[Row]) -> Figure:
    """Draw the error over the size, a panel for each dtype, a line for each eps.

    Values that are not finite are not drawn.
    """
    figure = Figure(figsize=(5, 6.6), layout="constrained")
    panels = figure.subplots(len(DTYPES), 1, sharex=True, sharey=True)
    for axes, dtype in zip(panels, DTYPES, strict=True):
        for method, number in product((INSIDE, OUTSIDE), range(len(EPS))):
            own = _rows_of(rows, dtype, EPS[number], method)
            points = sorted(
                (float(row["size"]), max(float(row["largest_error_units"]), SMALLEST))
                for row in own
            )
            axes.loglog(
                [size for size, _ in points],
                [ulps for _, ulps in points],
                ("-" if method == INSIDE else ":") + "osd^"[number],
                color=f"C{number}",
                markersize=3.5,
                label=f"eps {EPS[number]:g}, {method}",
            )
        axes.axhline(ALLOWED_ULPS, color="C4", linewidth=0.8)
        axes.set(title=dtype, ylabel="largest error, ULPs")
    panels[-1].set_xlabel("size of the channels")
    figure.legend(
        *panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=2
    )
    return figure


LAB = Lab(
    "norm-eps",
    ("dtype", "eps", "size"),
    ("method", "outcome", "largest_error_units", "root_mean_square"),
    cases,
    measure,
    summary,
    draw,
)
