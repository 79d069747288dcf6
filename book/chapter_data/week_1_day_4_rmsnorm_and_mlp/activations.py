"""The activations that a gate can have."""

import math
from collections.abc import Callable, Mapping
from typing import Any

import mlx.core as mx
import numpy as np
from matplotlib.figure import Figure

from tiny_llm_course.book.drawing import GRID, MUTED, SERIES, Texts
from tiny_llm_ref.basics import silu


def sigmoid(x: np.ndarray) -> np.ndarray:
    """Squeeze all numbers into 0 to 1."""
    return 1 / (1 + np.exp(-x))


def gelu(x: np.ndarray) -> np.ndarray:
    """Multiply by the share of a normal distribution that is below x."""
    share = [0.5 * (1 + math.erf(one / math.sqrt(2))) for one in np.ravel(x)]
    return x * np.reshape(share, np.shape(x))


def gelu_tanh(x: np.ndarray) -> np.ndarray:
    """Approximate GELU with a hyperbolic tangent."""
    inner = math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)
    return 0.5 * x * (1 + np.tanh(inner))


def silu_of(x: np.ndarray) -> np.ndarray:
    """Run the SiLU of the course."""
    return np.array(silu(mx.array(x.astype(np.float32))), dtype=np.float64)


ACTIVATIONS: Mapping[str, Callable[[np.ndarray], np.ndarray]] = {
    "sigmoid": sigmoid,
    "relu": lambda x: np.maximum(x, 0),
    "gelu": gelu,
    "silu": silu_of,
}


def tabulated_activations() -> dict[str, Any]:
    """Tabulate the activations, and find the dip of the SiLU."""
    wide = np.linspace(-8, 8, 16001)
    least = wide[np.argmin(wide * sigmoid(wide))]
    places = np.arange(-3.0, 4.0)
    table = {
        name: [f"{value:.3f}" for value in function(places)]
        for name, function in ACTIVATIONS.items()
    }
    return {
        "activation": table,
        "dip_at": f"{least:.3f}",
        "dip": f"{silu_of(np.array([least]))[0]:.3f}",
        "dip_size": f"{-silu_of(np.array([least]))[0]:.3f}",
        "far_product": f"{-4 * silu_of(np.array([4.0]))[0]:.1f}",
        "tanh_off": f"{np.abs(gelu_tanh(wide) - gelu(wide)).max():.4f}",
        "quick_off": f"{np.abs(wide * sigmoid(1.702 * wide) - gelu(wide)).max():.2f}",
        "silu_off": f"{np.abs(wide * sigmoid(wide) - gelu(wide)).max():.2f}",
    }


def draw_activations(text: Texts) -> Figure:
    """Draw ReLU, GELU and SiLU, and mark the least value of the last."""
    figure = Figure(figsize=(5, 2.7))
    axes = figure.subplots()
    x = np.linspace(-5, 3, 321)
    for name, label, dashes in (
        ("relu", "ReLU", ":"),
        ("gelu", "GELU", "--"),
        ("silu", "SiLU", "-"),
    ):
        axes.plot(x, ACTIVATIONS[name](x), dashes, label=label)
    least = x[np.argmin(silu_of(x))]
    lowest = silu_of(np.array([least]))[0]
    axes.plot(least, lowest, "o", ms=5, color=SERIES[2])
    axes.annotate(
        text["least"].format(value=f"{lowest:.3f}"),
        (least, lowest),
        (-4.6, -0.75),
        fontsize=8.5,
        arrowprops={"arrowstyle": "-", "color": MUTED, "lw": 0.8},
    )
    axes.axhline(0, color=GRID, lw=1)
    axes.set(xlabel="x", ylabel=text["y"], ylim=(-1.0, 3.05))
    axes.legend(loc="upper left")
    return figure
