"""The roofline of one machine, and the bytes of one token."""

import mlx.core as mx
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tiny_llm_course.book.drawing import INK, MUTED, SERIES, Texts
from tiny_llm_ref.roofline import bytes_per_token, flops_per_token

from .costs import (
    FORMATS,
    PRODUCTS,
    QWEN2,
    READ,
    SHORT,
    library,
    prefill,
    prefill_flops,
)


def draw_roofline(text: Texts) -> Figure:
    """Draw the roof, the work of Qwen2-0.5B under it, and what was measured."""
    figure = Figure(figsize=(5.0, 3.4))
    axes = figure.subplots()
    intensity = np.geomspace(0.2, 2000, 200)
    roof = np.minimum(PRODUCTS, intensity * READ) / 1e9
    axes.plot(intensity, roof, color=INK)
    axes.axvline(PRODUCTS / READ, color=MUTED, linestyle=":", linewidth=1)
    flops, seen = flops_per_token(QWEN2, SHORT), library()
    dense = flops / bytes_per_token(QWEN2, SHORT)
    four = flops / bytes_per_token(QWEN2, SHORT, 4)
    prompt_flops = prefill_flops(SHORT)
    prompt = prompt_flops / bytes_per_token(QWEN2, SHORT, 4)
    read = prefill()["measured"] * prompt_flops / SHORT
    _place(axes, dense, seen["dense"]["speed"] * flops, text["dense"], SERIES[0])
    _place(axes, four, seen["four"]["speed"] * flops, text["four"], SERIES[1])
    _place(axes, prompt, read, text["read"].format(tokens=SHORT), SERIES[2])
    axes.set(xscale="log", yscale="log", ylim=(1, 500), xlim=(0.2, 2000))
    axes.set(xlabel=text["x"], ylabel=text["y"])
    return figure


def _place(axes: Axes, intensity: float, measured: float, name: str, hue: str) -> None:
    """Mark what is possible with a ring, and what was measured with a dot below it."""
    possible = min(PRODUCTS, intensity * READ) / 1e9
    axes.plot([intensity] * 2, [measured / 1e9, possible], color=hue, linewidth=1)
    axes.plot(intensity, possible, "o", color=hue, markerfacecolor="none")
    axes.plot(intensity, measured / 1e9, "o", color=hue)
    axes.annotate(
        name, (intensity, measured / 1e9), (5, -3), textcoords="offset points", size=8
    )


def draw_bytes(text: Texts) -> Figure:
    """Draw what one token moves, by kind, in three formats and at two contexts."""
    figure = Figure(figsize=(5.0, 2.6))
    axes = figure.subplots()
    formats = ("dense", "eight", "four")
    bars = [(name, context) for name in formats for context in (1024, 32768)]
    for place, (name, context) in enumerate(bars):
        left = 0.0
        for size, hue in zip(_kinds(name, context), SERIES, strict=False):
            axes.barh(place, size / 1e6, left=left, color=hue, height=0.7)
            left += size / 1e6
    labels = [f"{text[name]}, {context}" for name, context in bars]
    axes.set_yticks(range(len(bars)), labels)
    axes.invert_yaxis()
    axes.set_xlabel(text["x"])
    for kind, hue in zip(("layers", "head", "cache"), SERIES, strict=False):
        axes.barh(0, 0, color=hue, label=text[kind])
    axes.legend(loc="lower right")
    return figure


def _kinds(name: str, context: int) -> tuple[int, int, int]:
    """Return the bytes of the layers, of the head and of the cache."""
    options = FORMATS[name]
    whole = bytes_per_token(QWEN2, context, **options)
    weights = bytes_per_token(QWEN2, 0, **options)
    bits, size = options.get("bits"), mx.float32.size
    of_a_weight = size if bits is None else bits / 8 + 2 * size / 64
    head = int(QWEN2.vocab_size * QWEN2.hidden_size * of_a_weight)
    return weights - head, head, whole - weights
