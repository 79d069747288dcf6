"""Four tokens to work with by hand: temperature, top-k, top-p, and their order."""

import math
from typing import Any

import mlx.core as mx
import numpy as np
from matplotlib.figure import Figure

from tiny_llm_course.book.drawing import Texts

from .sampler import num_kept, sampled

WORDS = (" tree", " fox", " owl", " bee")

SHARES = (0.2, 0.4, 0.1, 0.3)
"""The example that a reader works out by hand: ids 0 to 3, not in falling order."""


def worked_row() -> mx.array:
    """Return the log-probabilities of the worked example, 1 x V."""
    return mx.log(mx.array([SHARES]))


def worked_temperature() -> dict[str, Any]:
    """Work out two temperatures by hand, and compare with the sampler."""
    by_hand = {"half": [p**2 for p in SHARES], "double": [p**0.5 for p in SHARES]}
    worked: dict[str, Any] = {
        "shares": SHARES,
        "names": WORDS,
        "logs": [math.log(p) for p in SHARES],
        "ratio": SHARES[1] / SHARES[2],
    }
    for (name, powers), temp in zip(by_hand.items(), (0.5, 2.0), strict=True):
        shares = [one / sum(powers) for one in powers]
        assert np.allclose(shares, sampled(worked_row(), temp)[0].tolist(), atol=1e-6)
        worked[name] = {
            "powers": powers,
            "sum": sum(powers),
            "shares": shares,
            "ratio": shares[1] / shares[2],
        }
    return worked


def worked_filters() -> dict[str, Any]:
    """Work out top-k and top-p, one at a time, on the worked example."""
    likeliest = sorted(SHARES, reverse=True)
    return {
        "likeliest": likeliest,
        "before": [sum(likeliest[:place]) for place in range(len(likeliest))],
        "k2": sampled(worked_row(), 1, None, 2)[0].tolist(),
        "p60": sampled(worked_row(), 1, 0.6)[0].tolist(),
        "two_likeliest": likeliest[0] + likeliest[1],
        "p": 0.6,
    }


def worked_order() -> dict[str, Any]:
    """Show that the order of the three steps decides which tokens stay."""
    top_p = 0.75
    row = worked_row()
    of_three = sorted(sampled(row, 1, None, 3)[0].tolist(), reverse=True)
    cold = sorted(sampled(row, 0.5)[0].tolist(), reverse=True)
    return {
        "p": top_p,
        "of_three": of_three,
        "before_of_three": [sum(of_three[:place]) for place in range(3)],
        "top_p_alone": num_kept(sampled(row, 1, top_p)),
        "both": num_kept(sampled(row, 1, top_p, 3)),
        "cold": cold,
        "before_cold": [sum(cold[:place]) for place in range(4)],
        "cold_first": num_kept(sampled(mx.log(sampled(row, 0.5)), 1, top_p)),
        "cold_last": num_kept(sampled(row, 0.5, top_p)),
    }


def draw_temperatures(text: Texts) -> Figure:
    """Draw the worked example at three temperatures."""
    figure = Figure(figsize=(5, 2.2))
    panels = figure.subplots(1, 3, sharey=True)
    order = sorted(range(len(SHARES)), key=lambda one: -SHARES[one])
    for panel, temp in zip(panels, (0.5, 1.0, 2.0), strict=True):
        shares = sampled(worked_row(), temp)[0].tolist()
        panel.bar([WORDS[one].strip() for one in order], [shares[one] for one in order])
        panel.set_title(f"temp = {temp:g}")
        panel.set_axisbelow(True)
        panel.grid(visible=False, axis="x")
        panel.tick_params(axis="x", labelsize=8)
    panels[0].set_ylabel(text["y"])
    return figure
