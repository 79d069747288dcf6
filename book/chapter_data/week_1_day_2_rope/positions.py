"""How fast pairs turn, how far that reaches, and what precision does to it."""

import math

import mlx.core as mx
from matplotlib.figure import Figure

from tiny_llm_course.book.drawing import Texts

HEAD_DIM = 64
CONTEXT = 32768
BASES = (10000, 1000000)
ROUNDED = [255, 257, 2047, 2049, 8191, 32767]


def speeds(dims: int, base: float) -> list[float]:
    """Return the radians per position of all pairs."""
    return [base ** (-2 * pair / dims) for pair in range(dims // 2)]


def rounded(position: int) -> dict[str, float]:
    """Return what the half types make of a position."""
    exact = mx.array(position)
    return {
        "exact": position,
        "float16": exact.astype(mx.float16).item(),
        "bfloat16": exact.astype(mx.bfloat16).item(),
    }


def worst_errors() -> dict[str, float]:
    """Return how far off positions are at worst, below 8192 and then everywhere."""
    positions = mx.arange(CONTEXT)

    def worst(dtype: mx.Dtype, end: int) -> float:
        part = positions[:end]
        return mx.abs(part.astype(dtype).astype(mx.float32) - part).max().item()

    return {
        "float16": worst(mx.float16, CONTEXT),
        "bfloat16": worst(mx.bfloat16, CONTEXT),
        "float16_to_8192": worst(mx.float16, 8192),
        "bfloat16_to_512": worst(mx.bfloat16, 512),
    }


def draw_distance(text: Texts) -> Figure:
    """Draw the score of a vector with itself, some way further on, for both bases."""
    distances = sorted({round(2 ** (step / 6)) for step in range(6 * 15)})
    figure = Figure(figsize=(5, 2.7))
    axes = figure.subplots()
    for base, line in zip(BASES, ("-", "--"), strict=True):
        angles = mx.arange(CONTEXT)[:, None] * mx.array(speeds(HEAD_DIM, base))
        scores = mx.cos(angles).mean(axis=-1)
        means = [_mean_around(distance, scores) for distance in distances]
        axes.plot(distances, means, line, label=text["base"].format(base=base))
    axes.set_xscale("log", base=2)
    axes.set_xticks([2**power for power in range(0, 16, 3)])
    axes.set_xticklabels([str(2**power) for power in range(0, 16, 3)])
    axes.set(xlabel=text["x"], ylabel=text["y"])
    axes.legend()
    return figure


def _mean_around(distance: int, scores: mx.array) -> float:
    """Return the mean score from a distance / sqrt(2) to the distance * sqrt(2)."""
    first, last = distance / math.sqrt(2), distance * math.sqrt(2)
    return scores[math.ceil(first) : math.floor(last) + 1].mean().item()
